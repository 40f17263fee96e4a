package kernelinfo

import (
	"bytes"
	"compress/gzip"
	"io"
	"os"
	"path/filepath"
	"strings"

	"kpsim/internal/ui/cli"
	"kpsim/linux/vmlinux"
)

// An option is a configuration option that matters for patching.
type option struct {
	Name  string `json:"name"`
	Value string `json:"value"` // "yes", "no", or the preemption model
	By    string `json:"by"`    // the source of the value
}

// mostConfig is the maximum size of a configuration, in bytes.
const mostConfig = 4 << 20

// A rule says how an option is determined.
type rule struct {
	name    string
	symbols []string // one of these symbols exists if it is on; nil: see the configuration
	config  []string // option names in the configuration, by release
}

var rules = []rule{
	{"SMP", []string{"__per_cpu_offset", "smp_call_function_many_cond"}, []string{"CONFIG_SMP"}},
	{"KPROBES", []string{"register_kprobe"}, []string{"CONFIG_KPROBES"}},
	{"OPTPROBES", []string{"kprobe_optimizer", "arch_prepare_optimized_kprobe"}, []string{"CONFIG_OPTPROBES"}},
	{"KRETPROBES", []string{"register_kretprobe"}, []string{"CONFIG_KRETPROBES"}},
	{"KRETPROBE_ON_RETHOOK", []string{"arch_rethook_trampoline"}, []string{"CONFIG_KRETPROBE_ON_RETHOOK"}},
	{"OBJPOOL", []string{"objpool_init"}, []string{"CONFIG_OBJPOOL"}},
	{"KPROBES_ON_FTRACE", []string{"kprobe_ftrace_handler"}, []string{"CONFIG_KPROBES_ON_FTRACE"}},
	{"JUMP_LABEL", []string{"jump_label_text_reserved"}, []string{"CONFIG_JUMP_LABEL"}},
	{"STATIC_CALL_INLINE", []string{"static_call_text_reserved"}, []string{"CONFIG_HAVE_STATIC_CALL_INLINE"}},
	{"CFI", []string{"__cfi_register_kprobe"}, []string{"CONFIG_CFI_CLANG", "CONFIG_CFI"}},
	{"FINEIBT", nil, []string{"CONFIG_FINEIBT"}},
	{"CALL_DEPTH", []string{"callthunks_translate_call_dest"}, []string{"CONFIG_MITIGATION_CALL_DEPTH_TRACKING",
		"CONFIG_CALL_DEPTH_TRACKING"}},
	{"KASAN", []string{"kasan_report", "__asan_load8"}, []string{"CONFIG_KASAN"}},
	{"KCSAN", []string{"__tsan_read8"}, []string{"CONFIG_KCSAN"}},
	{"LOCKDEP", []string{"lock_acquire"}, []string{"CONFIG_LOCKDEP"}},
	{"DEBUG_LIST", nil, []string{"CONFIG_DEBUG_LIST"}},
	{"PANIC_ON_OOPS", nil, []string{"CONFIG_PANIC_ON_OOPS"}},
}

// configuration returns the options that matter, and the configuration file that was read; "":
// none was found.
func configuration(im *vmlinux.Image) (out []option, from string) {
	text, from := configFile(im)
	add := func(name string, on bool, by string) {
		value := "no"
		if on {
			value = "yes"
		}
		out = append(out, option{name, value, by})
	}
	out = append(out, option{"PREEMPT", preemption(im.Banner), "banner"})
	for _, m := range models {
		if isSet(text, m.config) {
			out[0] = option{"PREEMPT", m.is, "configuration"}
			break
		}
	}
	for _, r := range rules {
		if r.symbols == nil {
			if from != "" {
				add(r.name, isSet(text, r.config...), "configuration")
			}
			continue
		}
		on := false
		for _, s := range r.symbols {
			_, ok := im.Symbol(s)
			on = on || ok
		}
		add(r.name, on, "symbols")
	}
	entry, _ := im.Symbol("register_kprobe")
	add("IBT", bytes.HasPrefix(im.Bytes(entry.Addr, 4), []byte{0xf3, 0x0f, 0x1e, 0xfa}), "text: endbr64")
	add("RETHUNK", len(im.Returns()) > 0, "tables")
	_, thunk := im.Symbol("__x86_indirect_thunk_eax") // i386 has no table of thunks
	add("RETPOLINE", len(im.Retpolines()) > 0 || thunk, "tables")
	return out, from
}

// models are the preemption models as configurations name them, the first that is set. Banners don't tell full from
// lazy, nor none from voluntary.
var models = []struct{ config, is string }{
	{"CONFIG_PREEMPT_RT", "rt"}, {"CONFIG_PREEMPT_DYNAMIC", "dynamic"}, {"CONFIG_PREEMPT_LAZY", "lazy"},
	{"CONFIG_PREEMPT", "full"}, {"CONFIG_PREEMPT_VOLUNTARY", "voluntary"}, {"CONFIG_PREEMPT_NONE", "none"},
}

// preemption returns the preemption model that the banner names; "dynamic" if it is chosen at
// boot.
func preemption(banner string) string {
	for _, m := range []struct{ says, is string }{{"PREEMPT_RT", "rt"}, {"PREEMPT_DYNAMIC", "dynamic"},
		{"PREEMPT_LAZY", "lazy"}, {" PREEMPT ", "full"}} {
		if strings.Contains(banner+" ", m.says) {
			return m.is
		}
	}
	return "none or voluntary"
}

func isSet(config string, names ...string) bool {
	for _, n := range names {
		if strings.HasPrefix(config, n+"=y") || strings.Contains(config, "\n"+n+"=y") {
			return true
		}
	}
	return false
}

// configFile finds the configuration, in the kernel or beside its file.
func configFile(im *vmlinux.Image) (text, from string) {
	if text := embedded(im); text != "" {
		return text, "inside the kernel"
	}
	dir := filepath.Dir(im.Path)
	for _, name := range []string{"config-" + filepath.Base(im.Release), "config", ".config"} {
		path := filepath.Join(dir, name)
		if info, err := os.Stat(path); err != nil || !info.Mode().IsRegular() {
			continue
		}
		if b, err := cli.ReadFile(path, mostConfig); err == nil && isConfig(b) {
			return string(b), path
		}
	}
	return "", ""
}

// isConfig reports whether a file is the configuration of a kernel of 64 bits.
func isConfig(b []byte) bool {
	for _, name := range []string{"CONFIG_X86_64=", "CONFIG_RISCV=", "CONFIG_ARM64=", "CONFIG_PPC64="} {
		if bytes.Contains(b, []byte(name)) {
			return true
		}
	}
	return false
}

// embedded returns the configuration that CONFIG_IKCONFIG embedded in the kernel, or "".
func embedded(im *vmlinux.Image) string {
	s := im.Section(".rodata")
	if s == nil {
		return ""
	}
	_, packed, ok := bytes.Cut(s.Data, []byte("IKCFG_ST"))
	if !ok {
		return ""
	}
	r, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		return ""
	}
	r.Multistream(false)
	b, err := io.ReadAll(io.LimitReader(r, mostConfig))
	if err != nil {
		return ""
	}
	return string(b)
}
