// The vendors' own calls: of UCX and libfabric those that make something, and those that send. What they return is what their
// manuals name for a shortage. Counted are calls by tutti: what a vendor's library calls of itself is its own affair.
#include <dlfcn.h>
#include <rdma/fabric.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_eq.h>
#include <rdma/fi_rma.h>
#include <ucp/api/ucp.h>

#include <deque>
#include <map>
#include <mutex>

#include "tests/faults/injection.h"

using namespace tutti::test;

namespace {

template <class F>
F* ucx(const char* name) noexcept {
  return reinterpret_cast<F*>(symbol_in("libucp.so.0", name));
}
template <class F>
F* fabric(const char* name) noexcept {
  return reinterpret_cast<F*>(symbol_in("libfabric.so.1", name));
}

bool ucx_fails(const char* call, void* caller, ucs_status_t& s) noexcept {
  int error = 0;
  if (!of_tutti(caller) || !fails(fault::vendor_call, call, {UCS_ERR_NO_MEMORY, UCS_ERR_IO_ERROR, UCS_ERR_NO_RESOURCE}, error)) return false;
  s = static_cast<ucs_status_t>(error);
  return true;
}

bool fabric_fails(const char* call, void* caller, int& error) noexcept {
  if (!of_tutti(caller) || !fails(fault::vendor_call, call, {FI_ENOMEM, FI_EMFILE, FI_EIO}, error)) return false;
  error = -error;
  return true;
}

}  // namespace

extern "C" {

ucs_status_t ucp_config_read(const char* prefix, const char* file, ucp_config_t** out) {
  static auto* const real = ucx<decltype(ucp_config_read)>("ucp_config_read");
  ucs_status_t s;
  return ucx_fails("ucp_config_read", __builtin_return_address(0), s) ? s : real(prefix, file, out);
}
ucs_status_t ucp_init_version(unsigned major, unsigned minor, const ucp_params_t* p, const ucp_config_t* c,
                              ucp_context_h* out) {
  static auto* const real = ucx<decltype(ucp_init_version)>("ucp_init_version");
  ucs_status_t s;
  return ucx_fails("ucp_init_version", __builtin_return_address(0), s) ? s : real(major, minor, p, c, out);
}
ucs_status_t ucp_worker_create(ucp_context_h c, const ucp_worker_params_t* p, ucp_worker_h* out) {
  static auto* const real = ucx<decltype(ucp_worker_create)>("ucp_worker_create");
  ucs_status_t s;
  return ucx_fails("ucp_worker_create", __builtin_return_address(0), s) ? s : real(c, p, out);
}
ucs_status_t ucp_worker_query(ucp_worker_h w, ucp_worker_attr_t* out) {
  static auto* const real = ucx<decltype(ucp_worker_query)>("ucp_worker_query");
  ucs_status_t s;
  return ucx_fails("ucp_worker_query", __builtin_return_address(0), s) ? s : real(w, out);
}
ucs_status_t ucp_worker_get_address(ucp_worker_h w, ucp_address_t** out, std::size_t* bytes) {
  static auto* const real = ucx<decltype(ucp_worker_get_address)>("ucp_worker_get_address");
  ucs_status_t s;
  return ucx_fails("ucp_worker_get_address", __builtin_return_address(0), s) ? s : real(w, out, bytes);
}
ucs_status_t ucp_worker_get_efd(ucp_worker_h w, int* out) {
  static auto* const real = ucx<decltype(ucp_worker_get_efd)>("ucp_worker_get_efd");
  ucs_status_t s;
  return ucx_fails("ucp_worker_get_efd", __builtin_return_address(0), s) ? s : real(w, out);
}
ucs_status_t ucp_worker_arm(ucp_worker_h w) {
  static auto* const real = ucx<decltype(ucp_worker_arm)>("ucp_worker_arm");
  ucs_status_t s;
  return ucx_fails("ucp_worker_arm", __builtin_return_address(0), s) ? s : real(w);
}
ucs_status_t ucp_worker_set_am_recv_handler(ucp_worker_h w, const ucp_am_handler_param_t* p) {
  static auto* const real = ucx<decltype(ucp_worker_set_am_recv_handler)>("ucp_worker_set_am_recv_handler");
  if (p->id >= 8) return real(w, p);  // one for each of 65,536 ids, all alike
  ucs_status_t s;
  return ucx_fails("ucp_worker_set_am_recv_handler", __builtin_return_address(0), s) ? s : real(w, p);
}
ucs_status_t ucp_worker_fence(ucp_worker_h w) {
  static auto* const real = ucx<decltype(ucp_worker_fence)>("ucp_worker_fence");
  ucs_status_t s;
  return ucx_fails("ucp_worker_fence", __builtin_return_address(0), s) ? s : real(w);
}
ucs_status_t ucp_ep_create(ucp_worker_h w, const ucp_ep_params_t* p, ucp_ep_h* out) {
  static auto* const real = ucx<decltype(ucp_ep_create)>("ucp_ep_create");
  ucs_status_t s;
  return ucx_fails("ucp_ep_create", __builtin_return_address(0), s) ? s : real(w, p, out);
}
ucs_status_t ucp_ep_rkey_unpack(ucp_ep_h e, const void* key, ucp_rkey_h* out) {
  static auto* const real = ucx<decltype(ucp_ep_rkey_unpack)>("ucp_ep_rkey_unpack");
  ucs_status_t s;
  return ucx_fails("ucp_ep_rkey_unpack", __builtin_return_address(0), s) ? s : real(e, key, out);
}
ucs_status_t ucp_mem_map(ucp_context_h c, const ucp_mem_map_params_t* p, ucp_mem_h* out) {
  static auto* const real = ucx<decltype(ucp_mem_map)>("ucp_mem_map");
  ucs_status_t s;
  return ucx_fails("ucp_mem_map", __builtin_return_address(0), s) ? s : real(c, p, out);
}
ucs_status_t ucp_rkey_pack(ucp_context_h c, ucp_mem_h m, void** out, std::size_t* bytes) {
  static auto* const real = ucx<decltype(ucp_rkey_pack)>("ucp_rkey_pack");
  ucs_status_t s;
  return ucx_fails("ucp_rkey_pack", __builtin_return_address(0), s) ? s : real(c, m, out, bytes);
}
ucs_status_ptr_t ucp_am_send_nbx(ucp_ep_h e, unsigned id, const void* head, std::size_t head_bytes, const void* body,
                                 std::size_t bytes, const ucp_request_param_t* p) {
  static auto* const real = ucx<decltype(ucp_am_send_nbx)>("ucp_am_send_nbx");
  ucs_status_t s;
  return ucx_fails("ucp_am_send_nbx", __builtin_return_address(0), s) ? UCS_STATUS_PTR(s) : real(e, id, head, head_bytes, body, bytes, p);
}
ucs_status_ptr_t ucp_put_nbx(ucp_ep_h e, const void* from, std::size_t bytes, std::uint64_t to, ucp_rkey_h key,
                             const ucp_request_param_t* p) {
  static auto* const real = ucx<decltype(ucp_put_nbx)>("ucp_put_nbx");
  ucs_status_t s;
  return ucx_fails("ucp_put_nbx", __builtin_return_address(0), s) ? UCS_STATUS_PTR(s) : real(e, from, bytes, to, key, p);
}
ucs_status_ptr_t ucp_get_nbx(ucp_ep_h e, void* into, std::size_t bytes, std::uint64_t from, ucp_rkey_h key,
                             const ucp_request_param_t* p) {
  static auto* const real = ucx<decltype(ucp_get_nbx)>("ucp_get_nbx");
  ucs_status_t s;
  return ucx_fails("ucp_get_nbx", __builtin_return_address(0), s) ? UCS_STATUS_PTR(s) : real(e, into, bytes, from, key, p);
}
ucs_status_ptr_t ucp_ep_flush_nbx(ucp_ep_h e, const ucp_request_param_t* p) {
  static auto* const real = ucx<decltype(ucp_ep_flush_nbx)>("ucp_ep_flush_nbx");
  ucs_status_t s;
  return ucx_fails("ucp_ep_flush_nbx", __builtin_return_address(0), s) ? UCS_STATUS_PTR(s) : real(e, p);
}
ucs_status_ptr_t ucp_worker_flush_nbx(ucp_worker_h w, const ucp_request_param_t* p) {
  static auto* const real = ucx<decltype(ucp_worker_flush_nbx)>("ucp_worker_flush_nbx");
  ucs_status_t s;
  return ucx_fails("ucp_worker_flush_nbx", __builtin_return_address(0), s) ? UCS_STATUS_PTR(s) : real(w, p);
}
ucs_status_ptr_t ucp_ep_close_nbx(ucp_ep_h e, const ucp_request_param_t* p) {
  static auto* const real = ucx<decltype(ucp_ep_close_nbx)>("ucp_ep_close_nbx");
  ucs_status_t s;
  return ucx_fails("ucp_ep_close_nbx", __builtin_return_address(0), s) ? UCS_STATUS_PTR(s) : real(e, p);
}

}  // extern "C"

// libfabric's objects carry tables of functions. What a failing call would have made is wrapped when it is made: its table
// is replaced by a copy with these functions in it, which call the ones of before.
namespace {

template <class Table>
class kept {  // the tables of before and the copies, by object
 public:
  Table& replace(const void* object, Table*& place) {
    const std::lock_guard lock(mutex_);
    before_[object] = place;
    copies_.push_back(*place);
    place = &copies_.back();
    return copies_.back();
  }
  Table* of(const void* object) {
    const std::lock_guard lock(mutex_);
    return before_.at(object);
  }

 private:
  std::mutex mutex_;
  std::map<const void*, Table*> before_;
  std::deque<Table> copies_;
};

kept<fi_ops_fabric> fabrics;
kept<fi_ops_domain> domains;
kept<fi_ops_mr> regions;
kept<fi_ops> objects;
kept<fi_ops_av> address_vectors;
kept<fi_ops_cm> ends;
kept<fi_ops_msg> messages;

int bind_object(fid* f, fid* to, std::uint64_t flags) {
  int e;
  return fabric_fails("fi_bind", __builtin_return_address(0), e) ? e : objects.of(f)->bind(f, to, flags);
}
int control_object(fid* f, int command, void* argument) {
  int e;
  return command == FI_ENABLE && fabric_fails("fi_enable", __builtin_return_address(0), e) ? e : objects.of(f)->control(f, command, argument);
}
void wrap_object(fid* f) {
  fi_ops& t = objects.replace(f, f->ops);
  t.bind = bind_object, t.control = control_object;
}

int open_av(fid_domain* d, fi_av_attr* a, fid_av** out, void* context);
int open_cq(fid_domain* d, fi_cq_attr* a, fid_cq** out, void* context) {
  int e;
  return fabric_fails("fi_cq_open", __builtin_return_address(0), e) ? e : domains.of(d)->cq_open(d, a, out, context);
}
int open_counter(fid_domain* d, fi_cntr_attr* a, fid_cntr** out, void* context) {
  int e;
  return fabric_fails("fi_cntr_open", __builtin_return_address(0), e) ? e : domains.of(d)->cntr_open(d, a, out, context);
}
int get_name(fid* f, void* address, std::size_t* bytes) {
  int e;
  return fabric_fails("fi_getname", __builtin_return_address(0), e) ? e : ends.of(f)->getname(f, address, bytes);
}
ssize_t post_receive(fid_ep* ep, void* into, std::size_t bytes, void* key, fi_addr_t from, void* context) {
  int e;
  return fabric_fails("fi_recv", __builtin_return_address(0), e) ? e : messages.of(ep)->recv(ep, into, bytes, key, from, context);
}
ssize_t post_receive_message(fid_ep* ep, const fi_msg* m, std::uint64_t flags) {
  int e;
  return fabric_fails("fi_recvmsg", __builtin_return_address(0), e) ? e : messages.of(ep)->recvmsg(ep, m, flags);
}
ssize_t send_one(fid_ep* ep, const void* from, std::size_t bytes, void* key, fi_addr_t to, void* context) {
  int e;
  return fabric_fails("fi_send", __builtin_return_address(0), e) ? e : messages.of(ep)->send(ep, from, bytes, key, to, context);
}
ssize_t send_message(fid_ep* ep, const fi_msg* m, std::uint64_t flags) {
  int e;
  return fabric_fails("fi_sendmsg", __builtin_return_address(0), e) ? e : messages.of(ep)->sendmsg(ep, m, flags);
}
ssize_t send_vector(fid_ep* ep, const iovec* v, void** keys, std::size_t n, fi_addr_t to, void* context) {
  int e;
  return fabric_fails("fi_sendv", __builtin_return_address(0), e) ? e : messages.of(ep)->sendv(ep, v, keys, n, to, context);
}
ssize_t inject_one(fid_ep* ep, const void* from, std::size_t bytes, fi_addr_t to) {
  int e;
  return fabric_fails("fi_inject", __builtin_return_address(0), e) ? e : messages.of(ep)->inject(ep, from, bytes, to);
}
int open_endpoint(fid_domain* d, fi_info* info, fid_ep** out, void* context) {
  int e;
  if (fabric_fails("fi_endpoint", __builtin_return_address(0), e)) return e;
  const int code = domains.of(d)->endpoint(d, info, out, context);
  if (code != 0) return code;
  wrap_object(&(*out)->fid);
  if ((*out)->cm) ends.replace(*out, (*out)->cm).getname = get_name;
  if ((*out)->msg) {
    fi_ops_msg& t = messages.replace(*out, (*out)->msg);
    t.recv = post_receive, t.recvmsg = post_receive_message, t.send = send_one, t.sendmsg = send_message;
    t.sendv = send_vector, t.inject = inject_one;
  }
  return code;
}
int register_memory(fid* f, const void* at, std::size_t bytes, std::uint64_t access, std::uint64_t offset,
                    std::uint64_t key, std::uint64_t flags, fid_mr** out, void* context) {
  int e;
  return fabric_fails("fi_mr_reg", __builtin_return_address(0), e) ? e : regions.of(f)->reg(f, at, bytes, access, offset, key, flags, out, context);
}
int register_with(fid* f, const fi_mr_attr* a, std::uint64_t flags, fid_mr** out) {
  int e;
  return fabric_fails("fi_mr_regattr", __builtin_return_address(0), e) ? e : regions.of(f)->regattr(f, a, flags, out);
}
int insert_address(fid_av* av, const void* address, std::size_t n, fi_addr_t* out, std::uint64_t flags, void* context) {
  int e;
  return fabric_fails("fi_av_insert", __builtin_return_address(0), e) ? e : address_vectors.of(av)->insert(av, address, n, out, flags, context);
}
int open_av(fid_domain* d, fi_av_attr* a, fid_av** out, void* context) {
  int e;
  if (fabric_fails("fi_av_open", __builtin_return_address(0), e)) return e;
  const int code = domains.of(d)->av_open(d, a, out, context);
  if (code == 0) address_vectors.replace(*out, (*out)->ops).insert = insert_address;
  return code;
}
int open_domain(fid_fabric* f, fi_info* info, fid_domain** out, void* context) {
  int e;
  if (fabric_fails("fi_domain", __builtin_return_address(0), e)) return e;
  const int code = fabrics.of(f)->domain(f, info, out, context);
  if (code != 0) return code;
  fi_ops_domain& t = domains.replace(*out, (*out)->ops);
  t.av_open = open_av, t.cq_open = open_cq, t.endpoint = open_endpoint, t.cntr_open = open_counter;
  fi_ops_mr& m = regions.replace(*out, (*out)->mr);
  m.reg = register_memory, m.regattr = register_with;
  return code;
}
int open_events(fid_fabric* f, fi_eq_attr* a, fid_eq** out, void* context) {
  int e;
  return fabric_fails("fi_eq_open", __builtin_return_address(0), e) ? e : fabrics.of(f)->eq_open(f, a, out, context);
}
int try_wait(fid_fabric* f, fid** fids, int n) {
  int e;
  return fabric_fails("fi_trywait", __builtin_return_address(0), e) ? e : fabrics.of(f)->trywait(f, fids, n);
}

}  // namespace

extern "C" {

int fi_getinfo(std::uint32_t version, const char* node, const char* service, std::uint64_t flags, const fi_info* hints,
               fi_info** out) {
  static auto* const real = fabric<decltype(fi_getinfo)>("fi_getinfo");
  int e;
  return fabric_fails("fi_getinfo", __builtin_return_address(0), e) ? e : real(version, node, service, flags, hints, out);
}
fi_info* fi_dupinfo(const fi_info* info) {
  static auto* const real = fabric<decltype(fi_dupinfo)>("fi_dupinfo");
  int e;
  return fabric_fails("fi_dupinfo", __builtin_return_address(0), e) ? nullptr : real(info);
}
int fi_fabric(fi_fabric_attr* a, fid_fabric** out, void* context) {
  static auto* const real = fabric<decltype(fi_fabric)>("fi_fabric");
  int e;
  if (fabric_fails("fi_fabric", __builtin_return_address(0), e)) return e;
  const int code = real(a, out, context);
  if (code != 0 || !counts(fault::vendor_call)) return code;
  fi_ops_fabric& t = fabrics.replace(*out, (*out)->ops);
  t.domain = open_domain, t.eq_open = open_events, t.trywait = try_wait;
  return code;
}

}  // extern "C"
