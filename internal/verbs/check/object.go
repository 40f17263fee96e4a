package check

import (
	"cmp"
	"debug/elf"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"

	"kpsim/internal/nearest"
	"kpsim/internal/scenario"
	"kpsim/internal/scenario/lang"
	"kpsim/internal/scenario/library"
	"kpsim/internal/scenario/vet"
	"kpsim/internal/ui/cli"
	"kpsim/internal/ui/cli/inputs"
	"kpsim/kprobes/rules"
	"kpsim/kprobes/survey"
	"kpsim/smp/arch"
	"kpsim/smp/arch/target"
	"kpsim/smp/image"
)

// underKernel holds the flags that select an object and the kernel to ask about it.
type underKernel struct {
	Profile string `placeholder:"NAME" help:"A kernel whose answers were recorded: k61 (Debian's 6.1.192), k612 (6.12.113) or k61i386 (6.1.176, of i386). Default: the one nearest to what the object was built for, else k612."`
	Edition string `placeholder:"NAME" help:"The rules of an edition, as most kernels of it are built: ${editions}. Instead of a profile."`
	Config  string `placeholder:"NAMES" help:"Which of PREEMPTION, RETPOLINE, IBT, FTRACE the kernel is built with, joined by commas; or none. OPTPROBES=n turns jumps off. Instead of the profile's."`
	CPU     string `name:"cpu" placeholder:"FEATURES" help:"What the processor has, for alternatives: smap,erms and so on, joined by commas; or none. Default: that of the recorded machines."`

	by    string // the kernel that gave the answers, for an object
	draws bool   // what a jump replaces is drawn
}

// Load addresses of an object's text. A module is put into Linux's module area, or for i386 into
// vmalloc space; any other object where 32-bit addresses reach it, signed or unsigned.
const (
	moduleBase   = 0xffffffffc0000000
	moduleBase32 = 0xf8000000
	objectBase   = 0x40000000
)

// survey loads an object as the kernel would see it. A scenario's functions are surveyed under
// the kernel of its machine unless a flag names another.
func (u *underKernel) survey(path string) (*survey.Survey, error) {
	if isScenario(path) {
		return u.surveyScenario(path)
	}
	data, err := cli.ReadFile(path, cli.MostObject)
	var perr *fs.PathError
	if errors.As(err, &perr) {
		return nil, fmt.Errorf("%s: %v; give an object file, as gcc -c or a kernel's modules are, or a "+
			"scenario, NAME.star", path, perr.Err)
	} else if err != nil {
		return nil, err
	}
	if m, err := image.MachineOf(data); err == nil && m != elf.EM_X86_64 && m != elf.EM_386 {
		return nil, fmt.Errorf("%s: code for %v: compile it for x86-64", path, m)
	}
	o, err := image.ParseELF(path, data)
	if err != nil {
		return nil, err
	}
	k := rules.K612
	if v, known := o.Version(); known && v.Before(6, 7) {
		k = rules.K61
	}
	if o.Bits32() {
		k = rules.K61I386
	}
	if k, err = u.kernel(k); err != nil {
		return nil, err
	}
	u.by = "as loaded by " + describe(k)
	boot := image.StockBoot
	if u.CPU != "" {
		boot.Features = noneOr(u.CPU)
	}
	base := arch.Addr(objectBase)
	switch {
	case o.IsModule() && o.Bits32():
		base = moduleBase32
	case o.IsModule():
		base = moduleBase
	}
	m, err := o.Load(base, boot, nil)
	if err != nil {
		return nil, err
	}
	if len(m.Symbols) == 0 && !o.IsModule() {
		return nil, fmt.Errorf("%s: no code with a name: a kernel finds functions by their symbols, don't strip them",
			path)
	}
	s := survey.New(m, k)
	s.OneCPU = slices.Contains(strings.Split(boot.Features, ","), "up")
	return s, nil
}

// isScenario reports whether a path is a scenario or a trace, which contains one.
func isScenario(path string) bool {
	if strings.HasSuffix(path, ".star") || strings.HasSuffix(path, ".kps") {
		return true
	}
	_, err := os.Stat(path)
	return err != nil && slices.Contains(library.Names(), path)
}

func (u *underKernel) surveyScenario(path string) (*survey.Survey, error) {
	if u.CPU != "" {
		return nil, fmt.Errorf("--cpu: the text of %s has no alternatives; leave it out", path)
	}
	sc, err := u.scenario(path)
	if err != nil {
		return nil, err
	}
	if len(sc.Texts) == 0 {
		return nil, fmt.Errorf("%s: it has no functions; give it text(…) or elf(…)", path)
	}
	if on := sc.Machine.Arch; !on.Serves(target.Kprobes) || u.draws && !on.Serves(target.Jprobes) {
		return nil, &noRules{path, sc}
	}
	s := vet.Survey(sc)
	if s.Kernel, err = u.kernel(s.Kernel); err != nil {
		return nil, err
	}
	s.NeverBoosts = s.NeverBoosts && u.Profile+u.Edition == ""
	if u.by = "as judged by " + describe(s.Kernel); u.Profile+u.Edition == "" {
		u.by = "by the rules of its machine(), " + options(s.Kernel)
	}
	return s, nil
}

// A noRules is a scenario on a processor where kpsim has no kprobes.
type noRules struct {
	path string
	sc   *scenario.Scenario
}

func (n *noRules) Error() string {
	return fmt.Sprintf("%s: which instructions can be probed isn't known for %s, of which its machine() is; "+
		"kpsim disasm %s %s lists them", n.path, n.sc.Machine.Arch, n.path, n.sc.Texts[0].Name)
}

// scenario reads the scenario of a file or of a trace.
func (u *underKernel) scenario(path string) (*scenario.Scenario, error) {
	if !strings.HasSuffix(path, ".kps") {
		return inputs.One(inputs.ByHand, path)
	}
	file, err := inputs.ReadTrace(path)
	if err != nil {
		return nil, err
	}
	return lang.ParseFrom(path, []byte(file.Scenario), file.ScenarioLine)
}

// noneOr returns a list of names, or "" for the word "none".
func noneOr(names string) string {
	if names == "none" {
		return ""
	}
	return names
}

// kernel returns the kernel that the flags name; k supplies what they leave open.
func (u *underKernel) kernel(k rules.Kernel) (rules.Kernel, error) {
	if _, is := parseProfile(u.Edition); is { // a likely slip: a profile's name given as the edition
		u.Profile, u.Edition = u.Edition, ""
	}
	profile, known := parseProfile(u.Profile)
	bits32 := k.Bits32
	if k.Decoder != rules.DecodesX86 {
		return u.numbers(k)
	}
	switch {
	case u.Profile != "" && !known:
		return k, fmt.Errorf("--profile %s: there is no such profile; write k61, k612 or k61i386", u.Profile)
	case known && bits32 && !profile.Bits32:
		return k, fmt.Errorf("--profile %s: it is of x86-64, and the code of i386; write k61i386", u.Profile)
	case known && !bits32 && profile.Bits32:
		return k, fmt.Errorf("--profile %s: it is of i386, and the code of x86-64; write k61 or k612", u.Profile)
	case u.Profile != "" && u.Edition != "":
		return k, fmt.Errorf("--profile %s and --edition %s: a profile has its edition; leave one out", u.Profile,
			u.Edition)
	case u.Profile != "":
		k = profile
	}
	if u.Edition != "" {
		e, ok := rules.ParseEdition(u.Edition)
		if !ok {
			return k, fmt.Errorf("--edition: %w", inputs.KnownEdition(u.Edition, inputs.EditionNames()))
		}
		k = stock(e)
		if k.Bits32 = bits32; bits32 { // i386 has no IBT
			k.IBT = false
		}
		if u.Edition == "documented" { // the documented kernels optimize only without CONFIG_PREEMPT
			k.Preemption = false
		}
	}
	if u.Config == "" {
		return k, nil
	}
	if err := k.Configure(u.Config); err != nil {
		return k, fmt.Errorf("--config %s: %w", u.Config, err)
	}
	return k, nil
}

// numbers is kernel for code of other processors than x86, whose rules depend on the edition alone.
func (u *underKernel) numbers(k rules.Kernel) (rules.Kernel, error) {
	switch {
	case u.Profile != "":
		return k, fmt.Errorf("--profile %s: it is of x86, and the code isn't; leave it out", u.Profile)
	case u.Config != "":
		return k, fmt.Errorf("--config %s: the rules of this processor ask for none; leave it out", u.Config)
	case u.Edition == "":
		return k, nil
	}
	e, ok := rules.ParseEdition(u.Edition)
	if !ok {
		return k, fmt.Errorf("--edition: %w", inputs.KnownEdition(u.Edition, inputs.EditionNames()))
	}
	if !e.Numbers() {
		return k, fmt.Errorf("--edition %s: it has no kprobes as kpsim knows them on this processor; write 5.14, 6.5 "+
			"or 6.9", u.Edition)
	}
	k.Edition = e
	return k, nil
}

// parseProfile returns the recorded kernel of that name.
func parseProfile(name string) (rules.Kernel, bool) {
	if name == "k61i386" {
		return rules.K61I386, true
	}
	return rules.ParseProfile(name)
}

// stock sets the usual build options of an edition: distributions enabled preemption, selectable
// at boot, with 6.1, and IBT with 6.2.
func stock(e rules.Edition) rules.Kernel {
	switch e {
	case rules.Edition26:
		return rules.Kernel{Edition: e}
	case rules.Edition415:
		return rules.Kernel{Edition: e, Ftrace: true, Optprobes: true}
	case rules.Edition514:
		return rules.Kernel{Edition: e, Retpoline: true, Ftrace: true, Optprobes: true}
	case rules.Edition65:
		return rules.K61
	}
	return rules.K612
}

// describe names the kernel in words.
func describe(k rules.Kernel) string {
	switch k {
	case rules.K61:
		return "k61 (Debian 6.1.192), " + options(k)
	case rules.K612:
		return "k612 (Debian 6.12.113), " + options(k)
	case rules.K61I386:
		return "k61i386 (Debian 6.1.176), " + options(k)
	}
	return options(k)
}

// options lists the kernel options that the rules depend on.
func options(k rules.Kernel) string {
	text := "edition " + k.Edition.String()
	if set := k.Options(); len(set) > 0 {
		text += "\nwith " + strings.Join(set, " ")
	}
	return text
}

// symbol finds a function of an object.
func symbol(s *survey.Survey, path, name string) (*image.Symbol, error) {
	if sym, ok := s.Module.Symbol(name); ok {
		return sym, nil
	}
	var names []string
	for i := range s.Module.Symbols {
		names = append(names, s.Module.Symbols[i].Name)
	}
	return nil, fmt.Errorf("%s: no function %s; %s", path, name,
		cmp.Or(nearest.DidYouMean(name, names), cli.Line(cli.Typed(), "check", path)+" lists them"))
}
