package image

// The objects that the tests read, built by gcc 12.2 (Debian 12).

//go:generate gcc -O2 -fno-asynchronous-unwind-tables -fcf-protection=none -fno-pic -mgeneral-regs-only -c testdata/link.c -o testdata/link.o
//go:generate gcc -c testdata/extable.S -o testdata/extable.o
//go:generate gcc -c testdata/notype.S -o testdata/notype.o
//go:generate as --32 testdata/code32.S -o testdata/code32.o
//go:generate gcc -c testdata/bad_extable.S -o testdata/bad_extable.o
//go:generate gcc -c testdata/overlap.S -o testdata/overlap.o
//go:generate gcc -O2 -fno-asynchronous-unwind-tables -fPIC -c testdata/got.c -o testdata/got.o
//go:generate gcc -O2 -fno-asynchronous-unwind-tables -fno-pic -c testdata/tls.c -o testdata/tls.o
//go:generate gcc -O2 -fno-asynchronous-unwind-tables -fno-pic -fcommon -c testdata/common.c -o testdata/common.o
//go:generate gcc -c testdata/unsized.S -o testdata/unsized.o
//go:generate objcopy --redefine-sym same2=same testdata/unsized.o
//go:generate gcc -c testdata/tables.S -o testdata/tables.o
//go:generate gcc -c testdata/load.S -o testdata/load.o
//go:generate objcopy --redefine-sym again=same --redefine-sym "odd=a\"b\\c\x01\xff" testdata/load.o
//go:generate gcc -c testdata/nocode.c -o testdata/nocode.o
//go:generate ld testdata/notype.o -e bare -o testdata/linked.o
//go:generate gcc -c testdata/module.S -o testdata/module612.o
//go:generate gcc -DOLD -c testdata/module.S -o testdata/module61.o
//go:generate gcc -m32 -O2 -mregparm=3 -fno-asynchronous-unwind-tables -fcf-protection=none -fno-pic -mgeneral-regs-only -c testdata/link32.c -o testdata/link32.o
//go:generate gcc -m32 -c testdata/module32.S -o testdata/module32.o
//go:generate gcc -m32 -O2 -mregparm=3 -fno-asynchronous-unwind-tables -fPIC -c testdata/got32.c -o testdata/got32.o
