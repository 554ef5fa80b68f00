// What another rank sent is not as this version of tutti writes it.
#pragma once
#include "core/base/status.h"

namespace tutti {

inline status another_version(rank_t rank) noexcept {
  return {errc::protocol, worded("rank ", rank, " runs another version of tutti; install one version on all hosts"), rank};
}

}  // namespace tutti
