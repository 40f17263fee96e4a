package linux_test

import "strings"

// A guest is a program that kernels run.
type guest struct{ name, text string }

// textsOf returns programs by their names.
func textsOf(list []guest) map[string]string {
	texts := make(map[string]string)
	for _, p := range list {
		texts[p.name] = p.text
	}
	return texts
}

// guestsOfAll are programs that the kernels of each processor whose instructions are numbers run. TWICE is a function
// that adds 1 to its argument twice, TWO one that adds 2, ONE one that adds 1.
var guestsOfAll = []guest{
	{"shared", `
f = text("f", "TWICE")
a = kprobe("a", at = f)
b = kprobe("b", at = f, pre = [count()], post = [count()])
task("first", cpu = 0, ops = [register(a, errno = 0), call(f, 1, returns = 3), unregister(a)])
task("second", cpu = 1, ops = [register(b, errno = 0), call(f, 1, returns = 3), unregister(b)])
timer(cpu = 1)
`},
	{"joined", `
f = text("f", "TWICE")
a = kprobe("a", at = f)
b = kprobe("b", at = f, pre = [count()], post = [count()])
task("prober", cpu = 0, ops = [register(a, errno = 0), register(b, errno = 0), unregister(a), unregister(b)])
task("caller", cpu = 1, ops = [call(f, 1, returns = 3)], repeat = 3)
timer(cpu = 1)
`},
	{"nested", `
f = text("f", "TWICE")
g = text("g", "TWO")
pg = kprobe("pg", at = g, pre = [count()])
p = kprobe("p", at = f, pre = [call(g)], post = [call(g)])
r = kretprobe("r", at = f, handler = [call(g)], maxactive = 1)
task("prober", cpu = 0, ops = [register(pg, errno = 0), register(p, errno = 0), register(r, errno = 0),
    call(f, 1, returns = 3), enabled(False), call(f, 1, returns = 3), enabled(True), call(f, 2, returns = 4)])
task("caller", cpu = 1, ops = [call(f, 1, returns = 3), call(g, 1, returns = 3)], repeat = 2)
timer(cpu = 1, run = f)
`},
	{"returns", `
f = text("f", "ONE")
r = kretprobe("r", at = f, entry = [count()], handler = [count()], maxactive = 2)
task("prober", cpu = 0, ops = [register(r, errno = 0), call(f, 1, returns = 2), unregister(r), call(f, 1, returns = 2)])
task("caller", cpu = 1, ops = [call(f, 1, returns = 2), schedule(), call(f, 2, returns = 3)], repeat = 2)
timer(cpu = 1)
`},
}

// inWords returns the programs of guestsOfAll with the functions of a processor.
func inWords(twice, two, one string) (list []guest) {
	words := strings.NewReplacer("TWICE", twice, "TWO", two, "ONE", one)
	for _, p := range guestsOfAll {
		list = append(list, guest{p.name, words.Replace(p.text)})
	}
	return list
}
