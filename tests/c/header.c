/* The header alone, as strict C. */
#include <tutti.h>

int header_in_c(void);
int header_in_c(void) { return TUTTI_VERSION; }
