package main

// The object that docs/check.md and its test read, built by gcc 12.2 (Debian 12).

//go:generate gcc -c testdata/mine/reasons.S -o testdata/mine/reasons.o
