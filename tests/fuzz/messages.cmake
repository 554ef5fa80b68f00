tutti_fuzz(NAME messages SOURCES messages_fuzz.cpp LIBS tutti_messages)
