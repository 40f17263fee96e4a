package library

// The objects of library are real code, built by a real compiler and committed,
// so that running a scenario needs no compiler. Those in the repository were
// built by gcc 12.2 (Debian 12); another gcc may order the instructions
// differently, and then the offsets that scenarios and traces name move with
// them. smp/image's TestVictimStart says so; read objdump -d as well.
//
// victim.o needs two flags more. Without r8 to r11, gcc runs out of registers
// that a call may clobber and saves rbx; without the second scheduling pass it
// does so right after it has set up the frame.

//go:generate gcc -O2 -fno-asynchronous-unwind-tables -fcf-protection=none -fno-pic -mno-red-zone -mno-sse -mgeneral-regs-only -fno-stack-protector -fno-omit-frame-pointer -fno-schedule-insns2 -ffixed-r8 -ffixed-r9 -ffixed-r10 -ffixed-r11 -c src/victim.c -o victim.o
//go:generate gcc -O2 -fno-asynchronous-unwind-tables -fcf-protection=none -fno-pic -mno-red-zone -mno-sse -mgeneral-regs-only -fno-stack-protector -fno-omit-frame-pointer -c src/callers.c -o callers.o
//go:generate gcc -O2 -fno-asynchronous-unwind-tables -fcf-protection=none -fno-pic -mno-red-zone -mno-sse -mgeneral-regs-only -fno-stack-protector -fno-omit-frame-pointer -c src/label.S -o label.o
//go:generate gcc -O2 -fno-asynchronous-unwind-tables -fcf-protection=none -fno-pic -mno-red-zone -mno-sse -mgeneral-regs-only -fno-stack-protector -fno-omit-frame-pointer -c src/probe_targets.c -o probe_targets.o
//go:generate gcc -O2 -fno-asynchronous-unwind-tables -fcf-protection=none -fno-pic -mno-red-zone -mno-sse -mgeneral-regs-only -fno-stack-protector -fno-omit-frame-pointer -c src/work.c -o work.o
//go:generate gcc -O2 -fno-asynchronous-unwind-tables -fcf-protection=none -fno-pic -mno-red-zone -mno-sse -mgeneral-regs-only -fno-stack-protector -fno-omit-frame-pointer -ffreestanding -fno-tree-loop-distribute-patterns -c src/string.c -o string.o
//go:generate gcc -O2 -fno-asynchronous-unwind-tables -fcf-protection=none -fno-pic -mno-red-zone -mno-sse -mgeneral-regs-only -fno-stack-protector -fno-omit-frame-pointer -c src/patchers.c -o patchers.o
