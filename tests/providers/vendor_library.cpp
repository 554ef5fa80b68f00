// Stands for a vendor's library: one function that a module may call.
extern "C" __attribute__((visibility("default"))) int tutti_test_vendor_call() { return 42; }
