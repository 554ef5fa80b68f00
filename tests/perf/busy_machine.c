/* Preloaded: a machine on which many other programs run. */
int getloadavg(double averages[], int count);
int getloadavg(double averages[], int count) {
  for (int i = 0; i < count; ++i) averages[i] = 99;
  return count;
}
