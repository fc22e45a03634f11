#include "trace/stops.hpp"

#include <algorithm>
#include <cmath>
#include <tuple>

namespace resweep {
namespace {

void sort_volumes(std::vector<Crossing>& crossings) {
    std::sort(crossings.begin(), crossings.end(), [](const Crossing& a, const Crossing& b) {
        return a.centre < b.centre || (a.centre == b.centre && a.layer->number(a.volume) < b.layer->number(b.volume));
    });
}

// By range, then by place: the number of a disc depends on what else is at hand.
void sort_discs(std::vector<DiscCrossing>& discs) {
    const auto key = [](const DiscCrossing& one) {
        const float* at = one.layer->centre + 3 * std::size_t{one.disc};
        return std::make_tuple(one.range, at[0], at[1], at[2]);
    };
    std::sort(discs.begin(), discs.end(), [&](const auto& a, const auto& b) { return key(a) < key(b); });
    std::size_t kept = 0;
    for (std::size_t i = 0; i < discs.size(); ++i) {  // its triangles may differ in the last digit of the range
        bool again = false;
        for (std::size_t j = 0; j < kept && !again; ++j)
            again = discs[j].disc == discs[i].disc && discs[j].layer == discs[i].layer;
        if (!again) discs[kept++] = discs[i];
    }
    discs.resize(kept);
}

}  // namespace

void order_stops(std::vector<Crossing>& crossings, std::vector<DiscCrossing>& discs, float limit, float sigma,
                 float slope, std::vector<Stop>& stops) {
    sort_volumes(crossings);
    if (!discs.empty()) sort_discs(discs);
    stops.clear();
    std::size_t next = 0;
    const auto add_discs = [&](float before) {
        for (; next < discs.size() && discs[next].range <= before; ++next) {
            const DiscCrossing& one = discs[next];
            stops.push_back({one.range, sigma, one.layer->pass_of(one.disc), nullptr, &one});
        }
    };
    for (const Crossing& crossing : crossings) {
        if (crossing.centre > limit) break;
        add_discs(crossing.centre);
        const double pass = std::exp(static_cast<double>(log_pass(crossing, slope)));
        const double spread = std::sqrt(double{crossing.sigma} * crossing.sigma + double{sigma} * sigma);
        stops.push_back({crossing.centre, spread, pass, &crossing, nullptr});
    }
    add_discs(limit);
}

}  // namespace resweep
