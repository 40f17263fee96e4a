package ctest

import "strconv"

// A Prop is a proposition about a final state: a comparison, or what Op joins.
type Prop struct {
	Op       string  // "=", "!=", "/\\", "\\/", "~", "=>", "true" and "false"
	Args     []*Prop // of the joining ones
	Thread   int     // of a local; -1: a location
	Local    int
	Location int
	Value    int64
	With     *Prop // if it isn't nil, what is compared with instead: its thread, local and location
}

// A Truth is what is known of a proposition.
type Truth uint8

// What may be known.
const (
	Unknown Truth = iota
	No
	Yes
)

// Eval says what is known of p where get gives values, and whether they are final.
func (p *Prop) Eval(get func(thread, local, location int) (v int64, final bool)) Truth {
	switch p.Op {
	case "true":
		return Yes
	case "false":
		return No
	case "~":
		return not(p.Args[0].Eval(get))
	case `/\`:
		t := Yes
		for _, a := range p.Args {
			switch a.Eval(get) {
			case No:
				return No
			case Unknown:
				t = Unknown
			}
		}
		return t
	case `\/`:
		t := No
		for _, a := range p.Args {
			switch a.Eval(get) {
			case Yes:
				return Yes
			case Unknown:
				t = Unknown
			}
		}
		return t
	}
	v, final := get(p.Thread, p.Local, p.Location)
	if !final {
		return Unknown
	}
	want := p.Value
	if w := p.With; w != nil {
		if want, final = get(w.Thread, w.Local, w.Location); !final {
			return Unknown
		}
	}
	if (v == want) == (p.Op == "=") {
		return Yes
	}
	return No
}

func not(t Truth) Truth {
	switch t {
	case Yes:
		return No
	case No:
		return Yes
	}
	return Unknown
}

// conditions reads what follows the threads.
func (p *parser) conditions() {
	for p.word != "" {
		switch {
		case p.take("locations"):
			p.expect("[")
			for !p.take("]") {
				if p.word == "" {
					p.fail("locations [ isn't closed; put ] where it ends")
				}
				p.advance()
			}
			p.take(";")
		case p.take("filter"):
			p.test.Filter = p.prop(0)
		case p.take("exists"):
			p.condition(Exists)
		case p.take("forall"):
			p.condition(ForAll)
		case p.word == "~":
			p.advance()
			p.expect("exists")
			p.condition(NotExists)
		default:
			p.fail("%s stands where a condition is expected; write exists (...), ~exists (...), forall (...), "+
				"filter (...) or locations [...]", p.shown())
		}
	}
}

func (p *parser) condition(q Quantity) {
	if p.test.Prop != nil {
		p.fail("a second condition; a test has one")
	}
	p.test.Quantity, p.test.Prop = q, p.prop(0)
	p.take(";")
}

// prop reads a proposition: => binds least, then \/, /\ and ~.
func (p *parser) prop(level int) *Prop {
	p.deep()
	defer p.up()
	ops := []string{"=>", `\/`, `/\`}
	if level == len(ops) {
		return p.atom()
	}
	left := p.prop(level + 1)
	for p.take(ops[level]) {
		right := p.prop(level + 1)
		if ops[level] == "=>" {
			left, level = &Prop{Op: "~", Args: []*Prop{left}}, 0
			left = &Prop{Op: `\/`, Args: []*Prop{left, right}}
			continue
		}
		if left.Op == ops[level] {
			left.Args = append(left.Args, right)
			continue
		}
		left = &Prop{Op: ops[level], Args: []*Prop{left, right}}
	}
	return left
}

func (p *parser) atom() *Prop {
	switch {
	case p.take("~") || p.take("not"):
		return &Prop{Op: "~", Args: []*Prop{p.atom()}}
	case p.take("("):
		q := p.prop(0)
		p.expect(")")
		return q
	case p.take("true"):
		return &Prop{Op: "true"}
	case p.take("false"):
		return &Prop{Op: "false"}
	}
	q := &Prop{Thread: -1}
	if w := p.word; w != "" && digit(w[0]) {
		n := p.number()
		p.register(q, n)
	} else {
		p.take("*")
		bracket := p.take("[")
		q.Location = p.location(p.name())
		if bracket {
			p.expect("]")
		}
	}
	switch {
	case p.take("=") || p.take("=="):
		q.Op = "="
	case p.take("<"):
		p.expect(">")
		q.Op = "!="
	case p.take("!="):
		q.Op = "!="
	default:
		p.fail("%s stands where = is expected; write x=1", p.shown())
	}
	p.take("&")
	switch w := p.word; {
	case w == "-" || w != "" && digit(w[0]):
		q.Value = p.number()
		if p.word == ":" {
			q.With = &Prop{Thread: -1}
			p.register(q.With, q.Value)
		}
	case !p.take("NULL"):
		q.Value = Address(p.location(p.name()))
	}
	return q
}

// register reads what comes after the thread's number: a colon and a local's name.
func (p *parser) register(q *Prop, thread int64) {
	if thread < 0 || thread >= int64(len(p.test.Threads)) {
		p.fail("there is no thread %d; the last one is P%d", thread, len(p.test.Threads)-1)
	}
	p.expect(":")
	q.Thread = int(thread)
	q.Local = p.locals[thread].find(p, p.name(), true)
}

func (p *parser) number() int64 {
	sign := int64(1)
	if p.take("-") {
		sign = -1
	}
	n, err := strconv.ParseInt(p.word, 0, 32)
	if err != nil {
		p.fail("%s is no number below 2^31; write a smaller one", p.shown())
	}
	p.advance()
	return sign * n
}
