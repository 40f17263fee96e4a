extern int thing;
int get(void) { return thing; }
