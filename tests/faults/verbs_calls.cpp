// libibverbs' calls that make something, over made-up adapters: the module's calls come here, and go on to those.
#include "tests/faults/adapters.h"
#include "tests/faults/injection.h"
#include "tests/verbs/fake/fake.h"

#include <cerrno>

using namespace tutti::test;

namespace tutti::test {

const bool adapters = true;
void prepare_adapters() { fake::install({{.name = "fake0"}, {.name = "fake1"}}); }

}  // namespace tutti::test

namespace {

template <class F>
F* hidden(const char* name) noexcept {
  return reinterpret_cast<F*>(next_symbol(name));
}

bool verbs_fails(const char* call, std::initializer_list<int> errors, int& error) noexcept {
  if (!fails(fault::vendor_call, call, errors, error)) return false;
  errno = error;
  return true;
}

}  // namespace

#undef ibv_reg_mr

extern "C" {

ibv_context* ibv_open_device(ibv_device* d) {
  static auto* const real = hidden<ibv_context*(ibv_device*)>("ibv_open_device");
  int e;
  return verbs_fails("ibv_open_device", {EMFILE, ENOMEM, EACCES}, e) ? nullptr : real(d);
}
ibv_device** ibv_get_device_list(int* n) {
  static auto* const real = hidden<ibv_device**(int*)>("ibv_get_device_list");
  int e;
  return verbs_fails("ibv_get_device_list", {ENOMEM, EPERM}, e) ? nullptr : real(n);
}
int ibv_query_device(ibv_context* c, ibv_device_attr* out) {
  static auto* const real = hidden<int(ibv_context*, ibv_device_attr*)>("ibv_query_device");
  int e;
  return verbs_fails("ibv_query_device", {ENOMEM, EIO}, e) ? e : real(c, out);
}
ibv_pd* ibv_alloc_pd(ibv_context* c) {
  static auto* const real = hidden<ibv_pd*(ibv_context*)>("ibv_alloc_pd");
  int e;
  return verbs_fails("ibv_alloc_pd", {ENOMEM}, e) ? nullptr : real(c);
}
ibv_mr* ibv_reg_mr(ibv_pd* pd, void* at, std::size_t bytes, int access) {
  static auto* const real = hidden<ibv_mr*(ibv_pd*, void*, std::size_t, int)>("ibv_reg_mr");
  int e;
  return verbs_fails("ibv_reg_mr", {ENOMEM, EINVAL}, e) ? nullptr : real(pd, at, bytes, access);
}
ibv_mr* ibv_reg_mr_iova2(ibv_pd* pd, void* at, std::size_t bytes, std::uint64_t iova, unsigned access) {
  static auto* const real = hidden<ibv_mr*(ibv_pd*, void*, std::size_t, std::uint64_t, unsigned)>("ibv_reg_mr_iova2");
  int e;
  return verbs_fails("ibv_reg_mr_iova2", {ENOMEM, EINVAL}, e) ? nullptr : real(pd, at, bytes, iova, access);
}
ibv_comp_channel* ibv_create_comp_channel(ibv_context* c) {
  static auto* const real = hidden<ibv_comp_channel*(ibv_context*)>("ibv_create_comp_channel");
  int e;
  return verbs_fails("ibv_create_comp_channel", {EMFILE, ENOMEM}, e) ? nullptr : real(c);
}
ibv_cq* ibv_create_cq(ibv_context* c, int depth, void* context, ibv_comp_channel* channel, int vector) {
  static auto* const real = hidden<ibv_cq*(ibv_context*, int, void*, ibv_comp_channel*, int)>("ibv_create_cq");
  int e;
  return verbs_fails("ibv_create_cq", {ENOMEM, EINVAL}, e) ? nullptr : real(c, depth, context, channel, vector);
}
ibv_srq* ibv_create_srq(ibv_pd* pd, ibv_srq_init_attr* a) {
  static auto* const real = hidden<ibv_srq*(ibv_pd*, ibv_srq_init_attr*)>("ibv_create_srq");
  int e;
  return verbs_fails("ibv_create_srq", {ENOMEM}, e) ? nullptr : real(pd, a);
}
ibv_qp* ibv_create_qp(ibv_pd* pd, ibv_qp_init_attr* a) {
  static auto* const real = hidden<ibv_qp*(ibv_pd*, ibv_qp_init_attr*)>("ibv_create_qp");
  int e;
  return verbs_fails("ibv_create_qp", {ENOMEM}, e) ? nullptr : real(pd, a);
}
int ibv_modify_qp(ibv_qp* q, ibv_qp_attr* a, int mask) {
  static auto* const real = hidden<int(ibv_qp*, ibv_qp_attr*, int)>("ibv_modify_qp");
  int e;
  return verbs_fails("ibv_modify_qp", {ENOMEM, EINVAL}, e) ? e : real(q, a, mask);
}
int ibv_modify_srq(ibv_srq* q, ibv_srq_attr* a, int mask) {
  static auto* const real = hidden<int(ibv_srq*, ibv_srq_attr*, int)>("ibv_modify_srq");
  int e;
  return verbs_fails("ibv_modify_srq", {ENOMEM}, e) ? e : real(q, a, mask);
}
ibv_ah* ibv_create_ah(ibv_pd* pd, ibv_ah_attr* a) {
  static auto* const real = hidden<ibv_ah*(ibv_pd*, ibv_ah_attr*)>("ibv_create_ah");
  int e;
  return verbs_fails("ibv_create_ah", {ENOMEM}, e) ? nullptr : real(pd, a);
}
int ibv_attach_mcast(ibv_qp* q, const union ibv_gid* group, std::uint16_t lid) {
  static auto* const real = hidden<int(ibv_qp*, const union ibv_gid*, std::uint16_t)>("ibv_attach_mcast");
  int e;
  return verbs_fails("ibv_attach_mcast", {ENOMEM}, e) ? e : real(q, group, lid);
}

}  // extern "C"
