extern __thread int thing;
int get(void) { return thing; }
