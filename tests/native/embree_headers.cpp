// Compares cpp/core/embree_types.hpp with the official headers of Embree. Compiled by test_embree_layout.py, never run.
//
// With Embree 4 (one level of instancing, instance arrays enabled) everything is compared. With Embree 3, what both
// versions have in common: rays, hits without the id within an instance array, bounds, quaternion transforms, the
// arguments of callbacks, formats, geometry and buffer types, build qualities, scene flags, device properties. Embree 3
// has no RTCIntersectArguments, RTCRayQueryContext, query flags, instance arrays nor transform buffers.
#if __has_include(<embree4/rtcore.h>)
#include <embree4/rtcore.h>
#else
#include <embree3/rtcore.h>
#endif

#include <cstddef>
#include <type_traits>

#include "core/embree_types.hpp"

static_assert(RTC_MAX_INSTANCE_LEVEL_COUNT == 1, "these headers have several levels of instancing");
#if RTC_VERSION_MAJOR >= 4 && !defined(RTC_GEOMETRY_INSTANCE_ARRAY)
#error "these headers have no instance arrays"
#endif

#define SAME_SIZE(ours, theirs) \
    static_assert(sizeof(ours) == sizeof(theirs) && alignof(ours) == alignof(theirs), #theirs)
#define SAME_FIELD(ours, our_field, theirs, their_field) \
    static_assert(offsetof(ours, our_field) == offsetof(theirs, their_field), #theirs "::" #their_field)
#define SAME_VALUE(ours, theirs) static_assert(static_cast<long long>(ours) == static_cast<long long>(theirs), #theirs)

namespace {

using namespace resweep;

template <int N, class Ray, class Hit, class RayHit> constexpr bool same_packets() {
    using OurRay = RayPacket<N>;
    using OurHit = HitPacket<N>;
    using OurRayHit = RayHitPacket<N>;
    SAME_SIZE(OurRay, Ray);
    SAME_FIELD(OurRay, origin_x, Ray, org_x);
    SAME_FIELD(OurRay, origin_y, Ray, org_y);
    SAME_FIELD(OurRay, origin_z, Ray, org_z);
    SAME_FIELD(OurRay, t_near, Ray, tnear);
    SAME_FIELD(OurRay, direction_x, Ray, dir_x);
    SAME_FIELD(OurRay, direction_y, Ray, dir_y);
    SAME_FIELD(OurRay, direction_z, Ray, dir_z);
    SAME_FIELD(OurRay, time, Ray, time);
    SAME_FIELD(OurRay, t_far, Ray, tfar);
    SAME_FIELD(OurRay, mask, Ray, mask);
    SAME_FIELD(OurRay, id, Ray, id);
    SAME_FIELD(OurRay, flags, Ray, flags);
    static_assert(alignof(OurHit) == alignof(Hit));
    SAME_FIELD(OurHit, normal_x, Hit, Ng_x);
    SAME_FIELD(OurHit, normal_y, Hit, Ng_y);
    SAME_FIELD(OurHit, normal_z, Hit, Ng_z);
    SAME_FIELD(OurHit, u, Hit, u);
    SAME_FIELD(OurHit, v, Hit, v);
    SAME_FIELD(OurHit, primitive, Hit, primID);
    SAME_FIELD(OurHit, geometry, Hit, geomID);
    SAME_FIELD(OurHit, instance, Hit, instID);
    SAME_FIELD(OurRayHit, ray, RayHit, ray);
    SAME_FIELD(OurRayHit, hit, RayHit, hit);
#if RTC_VERSION_MAJOR >= 4
    SAME_SIZE(OurHit, Hit);
    SAME_SIZE(OurRayHit, RayHit);
    SAME_FIELD(OurHit, instance_primitive, Hit, instPrimID);
#endif
    return true;
}
static_assert(same_packets<1, RTCRay, RTCHit, RTCRayHit>());
static_assert(same_packets<8, RTCRay8, RTCHit8, RTCRayHit8>());
static_assert(same_packets<16, RTCRay16, RTCHit16, RTCRayHit16>());

SAME_SIZE(Bounds, RTCBounds);
SAME_FIELD(Bounds, lower, RTCBounds, lower_x);
SAME_FIELD(Bounds, padding0, RTCBounds, align0);
SAME_FIELD(Bounds, upper, RTCBounds, upper_x);
SAME_FIELD(Bounds, padding1, RTCBounds, align1);

SAME_SIZE(QuaternionTransform, RTCQuaternionDecomposition);
SAME_FIELD(QuaternionTransform, scale, RTCQuaternionDecomposition, scale_x);
SAME_FIELD(QuaternionTransform, skew, RTCQuaternionDecomposition, skew_xy);
SAME_FIELD(QuaternionTransform, shift, RTCQuaternionDecomposition, shift_x);
SAME_FIELD(QuaternionTransform, rotation, RTCQuaternionDecomposition, quaternion_r);
SAME_FIELD(QuaternionTransform, rotation[3], RTCQuaternionDecomposition, quaternion_k);
SAME_FIELD(QuaternionTransform, translation, RTCQuaternionDecomposition, translation_x);

SAME_SIZE(FilterArguments, RTCFilterFunctionNArguments);
SAME_FIELD(FilterArguments, valid, RTCFilterFunctionNArguments, valid);
SAME_FIELD(FilterArguments, user, RTCFilterFunctionNArguments, geometryUserPtr);
SAME_FIELD(FilterArguments, context, RTCFilterFunctionNArguments, context);
SAME_FIELD(FilterArguments, ray, RTCFilterFunctionNArguments, ray);
SAME_FIELD(FilterArguments, hit, RTCFilterFunctionNArguments, hit);
SAME_FIELD(FilterArguments, count, RTCFilterFunctionNArguments, N);

SAME_SIZE(BoundsArguments, RTCBoundsFunctionArguments);
SAME_FIELD(BoundsArguments, user, RTCBoundsFunctionArguments, geometryUserPtr);
SAME_FIELD(BoundsArguments, primitive, RTCBoundsFunctionArguments, primID);
SAME_FIELD(BoundsArguments, time_step, RTCBoundsFunctionArguments, timeStep);
SAME_FIELD(BoundsArguments, bounds, RTCBoundsFunctionArguments, bounds_o);

SAME_SIZE(UserArguments, RTCIntersectFunctionNArguments);
SAME_FIELD(UserArguments, valid, RTCIntersectFunctionNArguments, valid);
SAME_FIELD(UserArguments, user, RTCIntersectFunctionNArguments, geometryUserPtr);
SAME_FIELD(UserArguments, primitive, RTCIntersectFunctionNArguments, primID);
SAME_FIELD(UserArguments, context, RTCIntersectFunctionNArguments, context);
SAME_FIELD(UserArguments, rays, RTCIntersectFunctionNArguments, rayhit);
SAME_FIELD(UserArguments, count, RTCIntersectFunctionNArguments, N);
SAME_FIELD(UserArguments, geometry, RTCIntersectFunctionNArguments, geomID);

SAME_SIZE(UserArguments, RTCOccludedFunctionNArguments);
SAME_FIELD(UserArguments, valid, RTCOccludedFunctionNArguments, valid);
SAME_FIELD(UserArguments, user, RTCOccludedFunctionNArguments, geometryUserPtr);
SAME_FIELD(UserArguments, primitive, RTCOccludedFunctionNArguments, primID);
SAME_FIELD(UserArguments, context, RTCOccludedFunctionNArguments, context);
SAME_FIELD(UserArguments, rays, RTCOccludedFunctionNArguments, ray);
SAME_FIELD(UserArguments, count, RTCOccludedFunctionNArguments, N);
SAME_FIELD(UserArguments, geometry, RTCOccludedFunctionNArguments, geomID);

SAME_VALUE(kInvalidId, RTC_INVALID_GEOMETRY_ID);
SAME_VALUE(kTriangle, RTC_GEOMETRY_TYPE_TRIANGLE);
SAME_VALUE(kQuad, RTC_GEOMETRY_TYPE_QUAD);
SAME_VALUE(kUser, RTC_GEOMETRY_TYPE_USER);
SAME_VALUE(kInstance, RTC_GEOMETRY_TYPE_INSTANCE);
SAME_VALUE(kIndexBuffer, RTC_BUFFER_TYPE_INDEX);
SAME_VALUE(kVertexBuffer, RTC_BUFFER_TYPE_VERTEX);
SAME_VALUE(kUint3, RTC_FORMAT_UINT3);
SAME_VALUE(kUint4, RTC_FORMAT_UINT4);
SAME_VALUE(kFloat3, RTC_FORMAT_FLOAT3);
SAME_VALUE(kFloat3x4RowMajor, RTC_FORMAT_FLOAT3X4_ROW_MAJOR);
SAME_VALUE(kLow, RTC_BUILD_QUALITY_LOW);
SAME_VALUE(kMedium, RTC_BUILD_QUALITY_MEDIUM);
SAME_VALUE(kHigh, RTC_BUILD_QUALITY_HIGH);
SAME_VALUE(kNoSceneFlag, RTC_SCENE_FLAG_NONE);
SAME_VALUE(kCompact, RTC_SCENE_FLAG_COMPACT);
SAME_VALUE(kRobust, RTC_SCENE_FLAG_ROBUST);
SAME_VALUE(kVersionMajor, RTC_DEVICE_PROPERTY_VERSION_MAJOR);
SAME_VALUE(kVersionMinor, RTC_DEVICE_PROPERTY_VERSION_MINOR);
SAME_VALUE(kNoError, RTC_ERROR_NONE);

#if RTC_VERSION_MAJOR >= 4
SAME_SIZE(RayQueryContext, RTCRayQueryContext);
SAME_FIELD(RayQueryContext, instance_id, RTCRayQueryContext, instID);
SAME_FIELD(RayQueryContext, instance_primitive_id, RTCRayQueryContext, instPrimID);

// Ours has room for fields that not every build has.
static_assert(sizeof(IntersectArguments) >= sizeof(RTCIntersectArguments));
SAME_FIELD(IntersectArguments, flags, RTCIntersectArguments, flags);
SAME_FIELD(IntersectArguments, feature_mask, RTCIntersectArguments, feature_mask);
SAME_FIELD(IntersectArguments, context, RTCIntersectArguments, context);
SAME_FIELD(IntersectArguments, filter, RTCIntersectArguments, filter);
SAME_FIELD(IntersectArguments, intersect, RTCIntersectArguments, intersect);
static_assert(sizeof(IntersectArguments) >= sizeof(RTCOccludedArguments));
SAME_FIELD(IntersectArguments, flags, RTCOccludedArguments, flags);
SAME_FIELD(IntersectArguments, feature_mask, RTCOccludedArguments, feature_mask);
SAME_FIELD(IntersectArguments, context, RTCOccludedArguments, context);
SAME_FIELD(IntersectArguments, filter, RTCOccludedArguments, filter);
SAME_FIELD(IntersectArguments, intersect, RTCOccludedArguments, occluded);

SAME_VALUE(kInstanceArray, RTC_GEOMETRY_TYPE_INSTANCE_ARRAY);
SAME_VALUE(kTransformBuffer, RTC_BUFFER_TYPE_TRANSFORM);
SAME_VALUE(kIncoherent, RTC_RAY_QUERY_FLAG_INCOHERENT);
SAME_VALUE(kCoherent, RTC_RAY_QUERY_FLAG_COHERENT);
#endif

}  // namespace
