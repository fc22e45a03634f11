#include "trace/camera.hpp"

#include <algorithm>
#include <cmath>

#include "core/parallel.hpp"
#include "trace/packet_tracer.hpp"

namespace resweep {
namespace {

constexpr int kAcross = 4, kUp = 2;  // pixels of a packet: a block is narrower than a line

// The ray of the pixel in this column and row, through its middle.
void aim_pixel(const Camera& camera, int column, int row, float origin[3], float direction[3]) {
    const double across = camera.half_across * (1.0 - 2.0 * (column + 0.5) / camera.width);
    const double up = camera.half_up * (1.0 - 2.0 * (row + 0.5) / camera.height);
    double local[3] = {1.0, across, up}, shift[3] = {0.0, 0.0, 0.0};
    if (camera.projection == Projection::kPanoramic) {
        local[0] = std::cos(up) * std::cos(across);
        local[1] = std::cos(up) * std::sin(across);
        local[2] = std::sin(up);
    } else if (camera.projection == Projection::kParallel) {
        std::swap(local[1], shift[1]);
        std::swap(local[2], shift[2]);
    }
    const double length = std::sqrt(local[0] * local[0] + local[1] * local[1] + local[2] * local[2]);
    const double* r = camera.rotation;
    for (int axis = 0; axis < 3; ++axis) {
        const double* row_of = r + 3 * axis;
        direction[axis] =
            static_cast<float>((row_of[0] * local[0] + row_of[1] * local[1] + row_of[2] * local[2]) / length);
        origin[axis] = static_cast<float>(camera.position[axis] + row_of[1] * shift[1] + row_of[2] * shift[2]);
    }
}

// The normal of a blended surface of discs, in the frame of the nearest one: the weighted mean (C, eq. 17).
void blend_normals(const DiscHits& gathered, float limit, float normal[3]) {
    const int count = blended(gathered, limit);
    const float* first = gathered.layer[0]->normal + 3 * gathered.disc[0];
    std::fill_n(normal, 3, 0.0f);
    for (int i = 0; i < count; ++i) {
        const float* n = gathered.layer[i]->normal + 3 * gathered.disc[i];
        const float side = n[0] * first[0] + n[1] * first[1] + n[2] * first[2] < 0.0f ? -1.0f : 1.0f;
        const float weight = side * static_cast<float>(blend_weight(i, count));
        for (int axis = 0; axis < 3; ++axis) normal[axis] += weight * n[axis];
    }
}

// Make a normal unit and turn it towards the camera.
void face_camera(const float direction[3], float normal[3]) {
    const float length = std::sqrt(normal[0] * normal[0] + normal[1] * normal[1] + normal[2] * normal[2]);
    const float along = normal[0] * direction[0] + normal[1] * direction[1] + normal[2] * direction[2];
    for (int axis = 0; axis < 3; ++axis)
        normal[axis] = length > 0.0f ? normal[axis] / (along > 0.0f ? -length : length) : -direction[axis];
}

// Traces blocks of pixels into a view.
class Viewer {
  public:
    Viewer(const Scene& scene, const ActorScene* actors, const Camera& camera, float range_max, float time, View& view)
        : scene_(scene),
          actors_(actors && !actors->empty() ? actors : nullptr),
          camera_(camera),
          range_max_(range_max),
          time_(time),
          view_(view),
          tracer_(scene, actors) {
        std::fill_n(tracer_.rays().time, kAcross * kUp, time);
    }

    void trace_rows(int first) {
        for (int column = 0; column < camera_.width; column += kAcross) trace_block(column, first);
    }

  private:
    void trace_block(int column, int row) {
        float origins[3 * kAcross * kUp], directions[3 * kAcross * kUp];
        std::size_t pixels[kAcross * kUp];
        int lanes = 0;
        for (int y = row; y < std::min(row + kUp, camera_.height); ++y)
            for (int x = column; x < std::min(column + kAcross, camera_.width); ++x) {
                aim_pixel(camera_, x, y, origins + 3 * lanes, directions + 3 * lanes);
                pixels[lanes++] =
                    static_cast<std::size_t>(y) * static_cast<std::size_t>(camera_.width) + static_cast<std::size_t>(x);
            }
        tracer_.aim(origins, directions, lanes);
        tracer_.trace(lanes, range_max_);
        tracer_.hits(lanes, [&](int lane, const Event& event, const Hit& hit, bool moving) {
            store(pixels[lane], event, hit, moving, tracer_.discs(lane));
        });
    }

    void store(std::size_t pixel, const Event& event, const Hit& hit, bool moving, const DiscHits& gathered) {
        view_.range[pixel] = event.range;
        view_.reflected[pixel] = event.reflected;
        view_.label[pixel] = event.label;
        view_.instance[pixel] = event.instance;
        view_.kind[pixel] = static_cast<std::uint8_t>(event.kind);
        float* normal = view_.normal.data() + 3 * pixel;
        const bool gathers = scene_.gathers() || (actors_ && actors_->gathers());
        if (gathers && event.kind == PrimitiveKind::kSplats && gathered.count > 0 && gathered.range[0] <= event.range) {
            blend_normals(gathered, kInfinity, normal);
            if (gathered.layer[0]->moving) actors_->turn_normal(gathered.instance[0], time_, normal);
        } else if (moving) {
            std::copy_n(hit.normal, 3, normal);
            actors_->turn_normal(hit.instance, time_, normal);
        } else {
            scene_.find_normal(hit, normal);
        }
        face_camera(hit.direction, normal);
    }

    const Scene& scene_;
    const ActorScene* actors_;
    const Camera& camera_;
    float range_max_, time_;
    View& view_;
    PacketTracer<kAcross * kUp> tracer_;
};

}  // namespace

View take_view(const Scene& scene, const ActorScene* actors, const Camera& camera, float range_max, float time,
               int threads) {
    const std::size_t count = static_cast<std::size_t>(camera.width) * static_cast<std::size_t>(camera.height);
    View view;
    view.range.assign(count, kInfinity);
    view.normal.assign(3 * count, 0.0f);
    view.reflected.assign(count, 0.0f);
    view.label.assign(count, 0);
    view.instance.assign(count, 0);
    view.kind.assign(count, 0);
    const std::size_t strips = (static_cast<std::size_t>(camera.height) + kUp - 1) / kUp;
    parallel(strips, thread_count(threads), [&] {
        auto viewer = std::make_unique<Viewer>(scene, actors, camera, range_max, time, view);
        return [viewer = std::move(viewer)](std::size_t strip) { viewer->trace_rows(static_cast<int>(strip) * kUp); };
    });
    return view;
}

void camera_rays(const Camera& camera, std::vector<float>& origins, std::vector<float>& directions) {
    const std::size_t count = static_cast<std::size_t>(camera.width) * static_cast<std::size_t>(camera.height);
    origins.resize(3 * count);
    directions.resize(3 * count);
    for (std::size_t pixel = 0; pixel < count; ++pixel)
        aim_pixel(camera, static_cast<int>(pixel % static_cast<std::size_t>(camera.width)),
                  static_cast<int>(pixel / static_cast<std::size_t>(camera.width)), origins.data() + 3 * pixel,
                  directions.data() + 3 * pixel);
}

}  // namespace resweep
