// Fortran's functions that call none of C's and must know what is tutti's: that for attributes of windows, and Open MPI's for requests,
// which look into the objects that handles point to; tutti's point to none.
#include <dlfcn.h>

#include <vector>

#include "mpi/request.h"
#include "mpi/window.h"

using namespace tutti::mpi;

// The names that compilers give such a function, and the one that Open MPI's module mpi_f08 calls. The body's result is the error. As in C
// (real.h), it is behind a tool's function of the first names.
#define TUTTI_MPI_FORTRAN(lower, parameters, ...)                                                                  \
  extern "C" [[gnu::visibility("default")]] void pmpi_##lower##_ parameters;                                       \
  extern "C" [[gnu::visibility("default"), gnu::alias("pmpi_" #lower "_")]] void pmpi_##lower parameters;           \
  extern "C" [[gnu::visibility("default"), gnu::alias("pmpi_" #lower "_")]] void pmpi_##lower##__ parameters;       \
  extern "C" [[gnu::visibility("default"), gnu::alias("pmpi_" #lower "_")]] void ompi_##lower##_f parameters;       \
  void pmpi_##lower##_ parameters {                                                                                \
    const int ended = guarded(handler(MPI_COMM_WORLD), "mpi_" #lower, [&]() -> int __VA_ARGS__);                   \
    if (error) *error = ended;                                                                                     \
  }                                                                                                                \
  TUTTI_MPI_FORTRAN_JUMP(mpi_##lower, pmpi_##lower##_)                                                             \
  TUTTI_MPI_FORTRAN_JUMP(mpi_##lower##_, pmpi_##lower##_)                                                          \
  TUTTI_MPI_FORTRAN_JUMP(mpi_##lower##__, pmpi_##lower##_)
#define TUTTI_MPI_FORTRAN_JUMP(name, body)                       \
  TUTTI_MPI_JUMP(name, body, ([] {                               \
    static auto* const first = first_of(#name, #body, &body);    \
    return first;                                                \
  }()))

namespace {

template <class F>
F* first_of(const char* name, const char* of_mpi, F* here) noexcept {
  auto* const by_mpi = reinterpret_cast<F*>(dlsym(RTLD_NEXT, of_mpi));
  return by_mpi ? tool_or(name, by_mpi, here) : here;
}

}  // namespace

// As MPI_Win_get_attr() in C (windows.cpp).
TUTTI_MPI_FORTRAN(win_get_attr, (MPI_Fint * handle, MPI_Fint* key, MPI_Aint* value, MPI_Fint* found, MPI_Fint* error), {
  static auto* const by_mpi = reinterpret_cast<decltype(&pmpi_win_get_attr_)>(dlsym(RTLD_NEXT, "pmpi_win_get_attr_"));
  if (!by_mpi) return MPI_ERR_OTHER;
#ifdef OPEN_MPI
  constexpr MPI_Fint flavor = MPI_WIN_CREATE_FLAVOR;
#else  // whose keys for Fortran are others
  constexpr MPI_Fint flavor = MPI_WIN_CREATE_FLAVOR + 1;
#endif
  MPI_Fint by_mpi_ended = MPI_SUCCESS;
  by_mpi(handle, key, value, found, &by_mpi_ended);
  const held h;
  if (const window* const w = *key == flavor ? find(MPI_Win_f2c(*handle)) : nullptr; w && w->allocated) *value = MPI_WIN_FLAVOR_ALLOCATE;
  return by_mpi_ended;
})

#ifndef OPEN_MPI  // the names of MPICH's module mpi_f08
#define TUTTI_MPI_F08(name) \
  extern "C" [[gnu::visibility("default"), gnu::alias("pmpi_win_get_attr_")]] void name(MPI_Fint*, MPI_Fint*, MPI_Aint*, MPI_Fint*, MPI_Fint*)
TUTTI_MPI_F08(mpi_win_get_attr_f08_);
TUTTI_MPI_F08(pmpir_win_get_attr_f08_);
#else

// Handles in Fortran are numbers; MPI's begin with 0.
extern "C" MPI_Fint PMPI_Request_c2f(MPI_Request r) { return is_ours(r) ? -static_cast<MPI_Fint>(index_of(r)) - 2 : real.Request_c2f(r); }
TUTTI_MPI_ALSO(Request_c2f)
extern "C" MPI_Request PMPI_Request_f2c(MPI_Fint r) {
  return r < -1 ? handle_with<MPI_Request>(static_cast<std::size_t>(-(r + 2))) : real.Request_f2c(r);
}
TUTTI_MPI_ALSO(Request_f2c)
extern "C" MPI_Fint PMPI_Message_c2f(MPI_Message m) { return is_ours(m) ? -static_cast<MPI_Fint>(index_of(m)) - 2 : real.Message_c2f(m); }
TUTTI_MPI_ALSO(Message_c2f)
extern "C" MPI_Message PMPI_Message_f2c(MPI_Fint m) {
  return m < -1 ? handle_with<MPI_Message>(static_cast<std::size_t>(-(m + 2))) : real.Message_f2c(m);
}
TUTTI_MPI_ALSO(Message_f2c)

namespace {

constexpr MPI_Fint yes = 1, no = 0;  // .true. and .false., as gfortran has them

// Arguments of Fortran's, as C has them; written back by the destructor.
class requests {
 public:
  requests(MPI_Fint* in_fortran, MPI_Fint count) : in_fortran_(in_fortran) {
    for (MPI_Fint i = 0; i < count; ++i) in_c_.push_back(PMPI_Request_f2c(in_fortran[i]));
    in_c_.reserve(1);
  }
  ~requests() {
    for (std::size_t i = 0; i < in_c_.size(); ++i) in_fortran_[i] = PMPI_Request_c2f(in_c_[i]);
  }
  requests(const requests&) = delete;
  requests& operator=(const requests&) = delete;
  operator MPI_Request*() noexcept { return in_c_.data(); }

 private:
  MPI_Fint* in_fortran_;
  std::vector<MPI_Request> in_c_;
};

class statuses {
 public:
  statuses(MPI_Fint* in_fortran, const MPI_Fint* ignored, MPI_Fint count) : in_fortran_(in_fortran == ignored ? nullptr : in_fortran) {
    if (!in_fortran_) return;
    in_c_.resize(static_cast<std::size_t>(count));
    for (std::size_t i = 0; i < in_c_.size(); ++i) PMPI_Status_f2c(of(i), &in_c_[i]);
  }
  ~statuses() {
    for (std::size_t i = 0; i < in_c_.size(); ++i) PMPI_Status_c2f(&in_c_[i], of(i));
  }
  statuses(const statuses&) = delete;
  statuses& operator=(const statuses&) = delete;
  operator MPI_Status*() noexcept { return in_fortran_ ? in_c_.data() : MPI_STATUSES_IGNORE; }

 private:
  MPI_Fint* of(std::size_t i) const noexcept { return in_fortran_ + i * (sizeof(MPI_Status) / sizeof(MPI_Fint)); }
  MPI_Fint* in_fortran_;
  std::vector<MPI_Status> in_c_;
};

statuses one(MPI_Fint* s) { return statuses(s, MPI_F_STATUS_IGNORE, 1); }
statuses many(MPI_Fint* s, MPI_Fint n) { return statuses(s, MPI_F_STATUSES_IGNORE, n); }

// Places in arrays count from 1.
MPI_Fint place(int index) noexcept { return index == MPI_UNDEFINED ? index : index + 1; }

}  // namespace

TUTTI_MPI_FORTRAN(wait, (MPI_Fint * r, MPI_Fint* status, MPI_Fint* error), {
  requests c(r, 1);
  return PMPI_Wait(c, one(status));
})

TUTTI_MPI_FORTRAN(test, (MPI_Fint * r, MPI_Fint* done, MPI_Fint* status, MPI_Fint* error), {
  requests c(r, 1);
  int flag = 0;
  MPI_Status s;
  const int code = PMPI_Test(c, &flag, &s);
  *done = flag ? yes : no;
  if (flag && status != MPI_F_STATUS_IGNORE) PMPI_Status_c2f(&s, status);
  return code;
})

TUTTI_MPI_FORTRAN(waitall, (MPI_Fint * count, MPI_Fint* r, MPI_Fint* s, MPI_Fint* error), {
  requests c(r, *count);
  return PMPI_Waitall(*count, c, many(s, *count));
})

TUTTI_MPI_FORTRAN(testall, (MPI_Fint * count, MPI_Fint* r, MPI_Fint* done, MPI_Fint* s, MPI_Fint* error), {
  requests c(r, *count);
  int flag = 0;
  const int code = PMPI_Testall(*count, c, &flag, many(s, *count));
  *done = flag ? yes : no;
  return code;
})

TUTTI_MPI_FORTRAN(waitany, (MPI_Fint * count, MPI_Fint* r, MPI_Fint* index, MPI_Fint* status, MPI_Fint* error), {
  requests c(r, *count);
  int at = MPI_UNDEFINED;
  const int code = PMPI_Waitany(*count, c, &at, one(status));
  *index = place(at);
  return code;
})

TUTTI_MPI_FORTRAN(testany, (MPI_Fint * count, MPI_Fint* r, MPI_Fint* index, MPI_Fint* done, MPI_Fint* status, MPI_Fint* error), {
  requests c(r, *count);
  int at = MPI_UNDEFINED, flag = 0;
  const int code = PMPI_Testany(*count, c, &at, &flag, one(status));
  *index = place(at), *done = flag ? yes : no;
  return code;
})

TUTTI_MPI_FORTRAN(waitsome, (MPI_Fint * count, MPI_Fint* r, MPI_Fint* done, MPI_Fint* indices, MPI_Fint* s, MPI_Fint* error), {
  requests c(r, *count);
  *done = MPI_UNDEFINED;
  const int code = PMPI_Waitsome(*count, c, done, indices, many(s, *count));
  for (MPI_Fint i = 0; *done != MPI_UNDEFINED && i < *done; ++i) indices[i] = place(indices[i]);
  return code;
})

TUTTI_MPI_FORTRAN(testsome, (MPI_Fint * count, MPI_Fint* r, MPI_Fint* done, MPI_Fint* indices, MPI_Fint* s, MPI_Fint* error), {
  requests c(r, *count);
  *done = MPI_UNDEFINED;
  const int code = PMPI_Testsome(*count, c, done, indices, many(s, *count));
  for (MPI_Fint i = 0; *done != MPI_UNDEFINED && i < *done; ++i) indices[i] = place(indices[i]);
  return code;
})

TUTTI_MPI_FORTRAN(start, (MPI_Fint * r, MPI_Fint* error), {
  requests c(r, 1);
  return PMPI_Start(c);
})

TUTTI_MPI_FORTRAN(startall, (MPI_Fint * count, MPI_Fint* r, MPI_Fint* error), {
  requests c(r, *count);
  return PMPI_Startall(*count, c);
})

TUTTI_MPI_FORTRAN(request_free, (MPI_Fint * r, MPI_Fint* error), {
  requests c(r, 1);
  return PMPI_Request_free(c);
})

TUTTI_MPI_FORTRAN(cancel, (MPI_Fint * r, MPI_Fint* error), {
  requests c(r, 1);
  return PMPI_Cancel(c);
})

TUTTI_MPI_FORTRAN(request_get_status, (MPI_Fint * r, MPI_Fint* done, MPI_Fint* status, MPI_Fint* error), {
  int flag = 0;
  MPI_Status s;
  const int code = PMPI_Request_get_status(PMPI_Request_f2c(*r), &flag, &s);
  *done = flag ? yes : no;
  if (flag && status != MPI_F_STATUS_IGNORE) PMPI_Status_c2f(&s, status);
  return code;
})
#endif
