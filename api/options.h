// From the C structs of tutti_init() to configuration and bootstrap.
#pragma once
#include <memory>

#include "api/tutti.h"
#include "core/job/bootstrap.h"
#include "core/job/config.h"
#include "core/transport/provider.h"

namespace tutti::api {

struct start {
  config settings;
  std::unique_ptr<bootstrap> boot;
  notice_fn notice, unheard;           // unheard: late_notices::unheard
  std::function<void()> idle;
};

// Options null: everything from the environment.
result<std::unique_ptr<bootstrap>> bootstrap_of(const tutti_bootstrap_t&);
result<start> read_options(const tutti_options_t*);

}  // namespace tutti::api
