// Datagrams and tokens of core/multicast/ip_multicast, through real sockets on loopback. The first byte of an input says what
// the rest is; what the group's members send must arrive all the same, and nothing of anybody else.
#include <arpa/inet.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdlib>

#include "core/transport/multicast.h"
#include "tests/multicast/row_of_ranks.h"

using namespace tutti;
using namespace tutti::test;

namespace {

enum class way : std::uint8_t { to_group, to_creator, by_a_member, token, count };

struct scene {
  row_of_ranks row{2};
  ip_group_token token;
  std::vector<multicast::group_id> ids = join_all(row, token);
  int fd = ::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  std::uint32_t tag = 0;

  scene() {
    const in_addr loopback{htonl(INADDR_LOOPBACK)};
    ::setsockopt(fd, IPPROTO_IP, IP_MULTICAST_IF, &loopback, sizeof loopback);
  }
  ~scene() { ::close(fd); }

  void send(std::uint32_t address, std::uint16_t port, std::span<const std::byte> what) {
    sockaddr_in to{};
    to.sin_family = AF_INET, to.sin_port = htons(port), to.sin_addr.s_addr = htonl(address);
    (void)!::sendto(fd, what.data(), what.size(), 0, reinterpret_cast<sockaddr*>(&to), sizeof to);
  }

  // A member's datagram passes, and it is the next: nothing of what came before it was delivered.
  void still_works() {
    for (int i = 0; i < 64; ++i) row.progress();
    multicast::datagram d;
    ++tag;
    require(row[0].send(ids[0], tag, {}), "a member's datagram");
    do require(receive_soon(row[1], ids[1], d), "nothing arrives any more");
    while (d.from != 0 || d.tag != tag);
  }
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static scene s;
  if (size == 0) return 0;
  const auto bytes = std::as_bytes(std::span{data + 1, size - 1});
  switch (static_cast<way>(data[0] % static_cast<std::uint8_t>(way::count))) {
    case way::to_group: {
      s.send(s.token.address, s.token.port, bytes);
      const std::uint64_t before = s.row[1].rejected();
      multicast::datagram d;
      for (int i = 0; i < 200 && s.row[1].rejected() == before; ++i) {
        if (s.row[1].receive(s.ids[1], d)) std::abort();  // of somebody without the key
        s.row.progress();
      }
      break;
    }
    case way::to_creator: s.send(s.token.from, s.token.from_port, bytes); break;
    case way::by_a_member: {  // whatever it says, it is signed
      datagram_head head;
      if (bytes.size() < sizeof head) return 0;
      std::memcpy(&head, bytes.data(), sizeof head);
      const auto payload = bytes.subspan(sizeof head);
      head.magic = datagram_head::expected_magic, head.group = s.token.group, head.check = check_of(head, payload, s.token.key);
      std::vector<std::byte> whole(bytes.begin(), bytes.end());
      std::memcpy(whole.data(), &head, sizeof head);
      s.send(s.token.address, s.token.port, whole);
      s.send(s.token.from, s.token.from_port, whole);
      break;
    }
    case way::token:
      if (const auto joined = s.row[1].join(rank_map::strided(0, 2), bytes, time_point{})) s.row[1].leave(*joined);
      break;
    case way::count: break;
  }
  s.still_works();
  return 0;
}
