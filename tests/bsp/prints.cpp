// What processes print, for prints.sh. Usage: prints turns|abort|error|crash|exit|chosen|hang [apart]; apart: std::cout has a buffer of its own.
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iostream>

#include <bsp.h>

int main(int argc, char** argv) {
  const char* const how = argc > 1 ? argv[1] : "turns";
  const bool apart = argc > 2;
  const auto is = [&](const char* what) { return std::strcmp(how, what) == 0; };
  if (apart) std::ios::sync_with_stdio(false);
  static char buffer[1 << 16];
  if (is("chosen")) std::setvbuf(stdout, buffer, _IOFBF, sizeof buffer);
  bsp_begin(bsp_nprocs());
  const int p = bsp_nprocs(), s = bsp_pid();
  if (is("turns")) {
    for (int turn = 0; turn < 50 * p; ++turn) {
      if (turn % p != s) {
      } else if (apart) {
        std::cout << turn / p << ' ' << s << "\n";
      } else {
        std::printf("%d %d\n", turn / p, s);
      }
      bsp_sync();
    }
    bsp_end();
    return 0;
  }
  std::printf("process %d came\n", s);
  std::cout << "process " << s << " saw\n";
  bsp_sync();
  if (s == p - 1) {
    std::printf("process %d ends\n", s);
    std::cout << "process " << s << " ended\n";
    if (is("chosen")) std::raise(SIGKILL);
    if (is("abort")) bsp_abort("enough\n");
    if (is("error")) bsp_put(p, &p, &p, 0, sizeof p);
    if (is("crash")) std::raise(SIGSEGV);
    if (is("exit")) std::exit(2);
    while (is("hang")) ::sleep(1);
  }
  bsp_sync();
  bsp_sync();
  bsp_end();
}
