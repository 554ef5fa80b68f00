// What a team makes of operations that end otherwise than they should.
#include "core/job/team.h"

#include <boost/test/unit_test.hpp>

#include "core/job/job.h"
#include "tests/core/fake_transport.h"

using namespace tutti;
using namespace tutti::test;

namespace {

// Rank 0 of three, who all say the same.
class trio final : public bootstrap {
 public:
  rank_t rank() const noexcept override { return 0; }
  std::uint32_t size() const noexcept override { return 3; }
  const std::string& job_id() const noexcept override { return id_; }
  result<shared_blobs> allgather(std::span<const std::byte> mine, time_point) override {
    auto all = std::make_shared<blob_table>();
    for (int i = 0; i < 3; ++i) all->push_back(mine);
    return shared_blobs{std::move(all)};
  }

 private:
  std::string id_ = "trio";
};

// Ends whatever is under way.
struct refusal final : background {
  explicit refusal(fake_transport& t) : net(t) {}
  void advance() noexcept override { net.finish_all({errc::invalid, "rank 1 has dropped the region", 1}); }
  fake_transport& net;
};

}  // namespace

// Rank 1 was told of a death sooner, and has given the team up; the transport tells of it when it is asked.
BOOST_AUTO_TEST_CASE(an_exchange_with_a_member_that_gave_up_is_ended_by_the_death_that_it_saw) {
  auto net = std::make_unique<fake_transport>("t");
  refusal refuses{*net};
  auto opened = job::open(std::make_unique<trio>(), std::move(net), {});
  BOOST_REQUIRE_MESSAGE(opened.ok(), opened.error().text());
  (*opened)->enlist(refuses);
  const auto all = (*opened)->world().exchange({});
  BOOST_REQUIRE(!all.ok());
  BOOST_TEST_CONTEXT(all.error().text()) BOOST_TEST((all.error().code() == errc::peer_dead));
  (*opened)->dismiss(refuses);
}
