// Package xz reads the container of .xz files as kernels have it. The bytes in it are LZMA2,
// which ulikunitz/xz reads; the filter of x86, which kernels have besides, is undone here.
//
// What it is not: a reader of any .xz file. Other filters are refused, and neither the index nor
// a second stream is read.
//
// Its rule: what comes out was checked, once Finish has returned no error.
//
// Its limit: all that comes out is in memory. "The .xz File Format", version 1.2.1, has the
// numbers of the sections that comments name.
package xz
