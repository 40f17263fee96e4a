package lang

import (
	"slices"

	"go.starlark.net/starlark"
	"go.starlark.net/syntax"

	"kpsim/internal/nearest"
	"kpsim/internal/scenario"
)

// Parse reads the scenario of a trace: what Print prints, and what a person made of
// it with an editor. It runs no Starlark and opens no file, so that a trace may come
// from a stranger: a statement is one call of the language, or NAME = such a call;
// an argument is a number, a string, a name, a call, a list or a tuple of these, or
// one of them plus or minus numbers. Blanks, comments, line breaks, the order of named
// arguments and the base of numbers are free.
//
// What the calls are, what they take and what they make of it is the language's own
// table, which Load goes by as well.
//
// An error is one line, "name:line:col: what is wrong; what to do". Time and memory
// are linear in the length of src, which is at most MaxSource.
func Parse(name string, src []byte) (*scenario.Scenario, error) { return ParseFrom(name, src, nil) }

// ParseFrom is Parse of a program that is part of a file: line returns the line of the file that a
// line of src is, for errors.
func ParseFrom(name string, src []byte, line func(n int) int) (*scenario.Scenario, error) {
	l, err := parse(name, src, line)
	if err != nil {
		return nil, err
	}
	return &l.s, nil
}

// parse is ParseFrom, and records where everything was written.
func parse(name string, src []byte, line func(n int) int) (*loader, error) {
	l := newLoader(name, src, nil)
	l.line = line
	if err := l.tooLong(src); err != nil {
		return nil, err
	}
	r := reader{l: l, lexer: newLexer(l, src), verbs: make(map[string]*verb), names: make(map[string]starlark.Value)}
	for i := range language {
		r.verbs[language[i].name()] = &language[i]
	}
	if err := r.program(); err != nil {
		return nil, err
	}
	if err := Check(&l.s); err != nil {
		return nil, l.locate(err)
	}
	return l, nil
}

// The constants bound one statement. Print stays far below them.
const (
	maxNesting   = 16     // brackets within brackets
	maxArguments = 100    // of a call
	maxListed    = 70_000 // of a list: the bytes of a function
)

// printedShape ends the message about a statement of another form.
const printedShape = "a trace's scenario is a list of calls as kpsim prints it, without loops, functions or " +
	"other Starlark"

// A reader reads statements.
type reader struct {
	lexer
	l     *loader
	verbs map[string]*verb
	names map[string]starlark.Value // what NAME = call(…) has named
}

// program reads all statements.
func (r *reader) program() error {
	for r.next(); r.err == nil && r.kind != endOfText; r.next() {
		if r.kind != newLine {
			r.statement()
		}
	}
	return r.err
}

// statement reads one, up to the end of its line.
func (r *reader) statement() {
	at, word := r.at, r.text
	if r.kind != nameToken {
		r.failf(at, "a line begins with %s; %s", r.what(), printedShape)
		return
	}
	r.next()
	switch {
	case r.is("="):
		r.next()
		verbAt, callee := r.at, r.text
		if r.kind != nameToken || !r.follows("(") {
			r.failf(verbAt, "%s = is followed by %s; only what a call makes has a name here, as f = text(…): %s", word,
				r.what(), printedShape)
			return
		}
		if _, taken := r.verbs[word]; taken || starlark.Universe.Has(word) {
			r.failf(at, "%s is a word of the language; give what you make another name", word)
			return
		}
		r.next()
		r.names[word] = r.call(callee, verbAt, 1)
	case r.is("("):
		r.call(word, at, 1)
	default:
		r.failf(at, "%.60s is followed by %s, not by = or (; %s", word, r.what(), printedShape)
	}
	if r.kind != newLine && r.kind != endOfText {
		r.failf(r.at, "after the call comes %s; put each call on a line of its own", r.what())
	}
}

// call reads the arguments of a call, whose name has been read, and makes it.
func (r *reader) call(name string, at syntax.Position, depth int) starlark.Value {
	v := r.verbs[name]
	if v == nil {
		if starlark.Universe.Has(name) {
			r.failf(at, "%s() is Starlark's, and no Starlark is run here; %s", name, printedShape)
		} else {
			r.failf(at, "%.60s isn't defined; %s", name, suggestion(name))
		}
		return nil
	}
	c := &call{l: r.l, sig: v.sig, name: name, at: at}
	said := make(map[string]bool)
	r.elements(")", depth, maxArguments, func() {
		param := r.text
		if r.kind != nameToken || !r.follows("=") {
			if len(c.kwargs) > 0 {
				r.failf(r.at, "an argument without a name stands after one with a name; put it first, or name it")
				return
			}
			c.args = append(c.args, r.sum(depth+1))
			return
		}
		if said[param] {
			r.failf(r.at, "%s() is given %s twice; leave one out", name, param)
			return
		}
		said[param] = true
		r.next()
		r.next()
		c.kwargs = append(c.kwargs, starlark.Tuple{starlark.String(param), r.sum(depth + 1)})
	})
	if r.err != nil {
		return nil
	}
	made, err := v.do(r.l, c)
	if err != nil {
		r.failf(r.l.subject(at, err.Error()), "%v", err)
	}
	return made
}

// elements reads what stands between an opening bracket, which is the token at hand, and
// the closing one, by a function that reads one of them.
func (r *reader) elements(closing string, depth, most int, one func()) {
	opened := r.at
	if depth > maxNesting {
		r.failf(opened, "brackets are nested more than %d deep; %s", maxNesting, printedShape)
		return
	}
	r.inside++
	r.next()
	for n := 0; r.err == nil && !r.is(closing); n++ {
		if n >= most {
			r.failf(r.at, "more than %d elements; leave some out", most)
			return
		}
		if one(); r.err != nil {
			return
		}
		switch {
		case r.is(","):
			r.next()
		case r.kind == endOfText:
			r.failf(opened, "this bracket isn't closed; put a %s where it ends", closing)
		case !r.is(closing):
			r.failf(r.at, "%s stands where a comma or %s is wanted; put one there", r.what(), closing)
		}
	}
	r.inside--
	r.next()
}

// sum reads a value, plus or minus numbers: f + 1.
func (r *reader) sum(depth int) starlark.Value {
	v := r.value(depth)
	for r.err == nil && (r.is("+") || r.is("-")) {
		op, at := syntax.PLUS, r.at
		if r.text == "-" {
			op = syntax.MINUS
		}
		r.next()
		if r.kind != numberToken {
			r.failf(r.at, "%s stands where a number is wanted, as in f + 1; write one", r.what())
			return nil
		}
		sum, err := starlark.Binary(op, v, r.number)
		if i, ok := sum.(starlark.Int); ok && err == nil {
			_, err = number("the sum", i)
		}
		if err != nil {
			r.failf(at, "%v", err)
			return nil
		}
		v = sum
		r.next()
	}
	return v
}

// value reads one value.
func (r *reader) value(depth int) starlark.Value {
	at, text := r.at, r.text
	var v starlark.Value
	switch {
	case r.kind == numberToken:
		v = r.number
	case r.kind == stringToken:
		v = r.literal
	case r.is("-") || r.is("+"):
		r.next()
		if r.kind != numberToken {
			r.failf(at, "%s isn't followed by a number; write one", text)
			return nil
		}
		v = r.number
		if text == "-" {
			v = starlark.MakeInt(0).Sub(r.number)
		}
	case r.is("["):
		return r.list(depth)
	case r.is("("):
		return r.tuple(depth)
	case r.kind == nameToken:
		return r.readNamed(text, at, depth)
	default:
		r.failf(at, "%s stands where a value is wanted; write a number, a string, a name, a call or a list", r.what())
		return nil
	}
	r.next()
	return v
}

// list reads […].
func (r *reader) list(depth int) starlark.Value {
	var all []starlark.Value
	r.elements("]", depth, maxListed, func() { all = append(all, r.sum(depth+1)) })
	return starlark.NewList(all)
}

// tuple reads (…): one value without a comma is that value.
func (r *reader) tuple(depth int) starlark.Value {
	var all starlark.Tuple
	comma := false
	r.elements(")", depth, maxListed, func() {
		all = append(all, r.sum(depth+1))
		comma = comma || r.is(",")
	})
	if len(all) == 1 && !comma {
		return all[0]
	}
	return all
}

// readNamed reads an expression that begins with a name: a constant, a variable, or a call.
func (r *reader) readNamed(word string, at syntax.Position, depth int) starlark.Value {
	r.next()
	if r.is("(") {
		return r.call(word, at, depth)
	}
	switch word {
	case "None":
		return starlark.None
	case "True":
		return starlark.True
	case "False":
		return starlark.False
	}
	v, ok := r.names[word]
	if !ok {
		var names []string
		for n := range r.names {
			names = append(names, n)
		}
		slices.Sort(names)
		r.failf(at, "%.60s isn't defined; %s", word, nearest.OrAll(word, names))
		return nil
	}
	return v
}
