package main

// The object that docs/check.md and its test read, built by gcc 12.2 (Debian 12).

//go:generate gcc -c testdata/mine/reasons.S -o testdata/mine/reasons.o

// The entry of the jprobe that the document of 2007 has, for document-2.6.star.

//go:generate gcc -O2 -fno-asynchronous-unwind-tables -fcf-protection=none -fno-pic -mno-red-zone -mno-sse -mgeneral-regs-only -fno-stack-protector -fno-omit-frame-pointer -c testdata/document/jdo_fork.c -o testdata/document/jdo_fork.o
