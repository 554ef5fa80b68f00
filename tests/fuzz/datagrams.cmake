tutti_fuzz(NAME datagrams SOURCES datagrams_fuzz.cpp LIBS tutti_harness)
