// Both flavours of bsp.h at once: the wide functions under names of their own.
#pragma once
#include <cstddef>

#include "bsp/bsp.h"

extern "C" {
void bsp_wide_begin(unsigned maxprocs) TUTTI_BSP_NAMED(wide_begin);
unsigned bsp_wide_nprocs(void) TUTTI_BSP_NAMED(wide_nprocs);
unsigned bsp_wide_pid(void) TUTTI_BSP_NAMED(wide_pid);
void bsp_wide_push_reg(const void* address, std::size_t bytes) TUTTI_BSP_NAMED(wide_push_reg);
void bsp_wide_put(unsigned pid, const void*, const void*, std::size_t offset, std::size_t bytes) TUTTI_BSP_NAMED(wide_put);
void bsp_wide_get(unsigned pid, const void*, std::size_t offset, void*, std::size_t bytes) TUTTI_BSP_NAMED(wide_get);
void bsp_wide_hpput(unsigned pid, const void*, const void*, std::size_t offset, std::size_t bytes) TUTTI_BSP_NAMED(wide_hpput);
void bsp_wide_hpget(unsigned pid, const void*, std::size_t offset, void*, std::size_t bytes) TUTTI_BSP_NAMED(wide_hpget);
void bsp_wide_direct_get(unsigned pid, const void*, std::size_t offset, void*, std::size_t bytes) TUTTI_BSP_NAMED(wide_direct_get);
void bsp_wide_set_tagsize(std::size_t* bytes) TUTTI_BSP_NAMED(wide_set_tagsize);
void bsp_wide_send(unsigned pid, const void* tag, const void* payload, std::size_t bytes) TUTTI_BSP_NAMED(wide_send);
void bsp_wide_qsize(unsigned* messages, std::size_t* payload_bytes) TUTTI_BSP_NAMED(wide_qsize);
void bsp_wide_get_tag(std::size_t* status, void* tag) TUTTI_BSP_NAMED(wide_get_tag);
void bsp_wide_move(void* payload, std::size_t most) TUTTI_BSP_NAMED(wide_move);
std::size_t bsp_wide_hpmove(void** tag, void** payload) TUTTI_BSP_NAMED(wide_hpmove);
}
