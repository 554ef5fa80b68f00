// The bootstrap of a job of one: no launcher, nobody to meet.
#pragma once
#include <memory>

#include "core/job/bootstrap.h"

namespace tutti {

std::unique_ptr<bootstrap> make_alone_bootstrap();

}  // namespace tutti
