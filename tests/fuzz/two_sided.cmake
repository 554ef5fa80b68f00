tutti_fuzz(NAME two_sided SOURCES two_sided_fuzz.cpp LIBS tutti_harness)
