package lang_test

import (
	"fmt"
	"os"
	"strings"

	"kpsim/internal/scenario/lang"
)

// A scenario is loaded from text, and is plain data.
func ExampleLoad() {
	sc, err := lang.Load("mine.star", []byte(`
machine(cpus = 2, preempt = "full", quiesce = "tasks")
f = text("f", "55 4889e5 53 5b 5d c3")
k = kprobe("k", at = f + 1)
task(ops = [register(k), call(f)])
`), os.ReadFile) // elf("mine.o") reads files by it
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(sc.Name, sc.Machine.CPUs, len(sc.Probes), sc.Probes[0].Func, sc.Probes[0].Offset)
	// Output: mine 2 1 f 1
}

// What is wrong is said in a line: where, what, and what to do.
func ExampleLoad_wrong() {
	_, err := lang.Load("mine.star", []byte(`f = text("f", "5z")`), os.ReadFile)
	fmt.Println(strings.ReplaceAll(err.Error(), "; ", ";\n"))
	// Output:
	// mine.star:1:15: hex of "f": line 1, column 2 of "5z": 'z' is no hexadecimal digit;
	// write pairs of digits, 55 4889e5, and # before what is no bytes
}

// A scenario prints itself as the program that builds it again.
func ExamplePrint() {
	sc, _ := lang.Load("mine.star", []byte(`
f = text("f", "90 c3")
for cpu in (0, 1):
    task(cpu = cpu, ops = [call(f)])
`), nil)
	fmt.Print(lang.Print(sc))
	// Output:
	// scenario("mine")
	// machine(cpus = 2)
	//
	// f = text("f", at = 0xffffffff81000000, size = 2, hex = "90 c3")
	//
	// task(cpu = 0, ops = [call(f)])
	// task(cpu = 1, ops = [call(f)])
	//
	// never()
}
