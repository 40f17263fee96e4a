# Runs inside: functions of the distribution's own modules in /share/ko, and of the kernel if /share/BUILTIN names any.
# SIZE: longest function taken. EVERY: take one function in EVERY, of modules with more than 400.
D=/sys/kernel/debug/kprobe_recorder
insmod /share/kprobe_recorder.ko fast=1 longest=${SIZE:-600} || exit 1
mkdir -p /share/out
cat /proc/cpuinfo /sys/devices/system/cpu/vulnerabilities/* > /share/out/cpu.txt
for round in 1 2 3; do
	for ko in /share/ko/*.ko; do
		m=$(basename $ko .ko | tr - _)
		[ -d /sys/module/$m/sections ] || insmod $ko 2>/dev/null
	done
done
echo "modules: $(ls /share/ko | wc -l) there, $(wc -l < /proc/modules) loaded, up $(cut -d. -f1 /proc/uptime) s"
sort /proc/kallsyms > /tmp/kallsyms
grep '\[' /tmp/kallsyms | grep -v kprobe_recorder > /share/out/real_kallsyms
grep -v '\[' /tmp/kallsyms > /share/out/kernel_kallsyms
find /sys/module/*/sections -type f | xargs grep -H . | sed 's,^/sys/module/,,; s,/sections/,\,,; s,:0x,\,0x,' | sort > /share/out/real_sections
echo "sections written, up $(cut -d. -f1 /proc/uptime) s"
awk -v every=${EVERY:-40} '
	$4 == "" { next }
	NR == FNR { count[$4]++; next }
	{ if (addr != "" && addr != $1 && type ~ /[tT]/ && name !~ /^(init_module|cleanup_module|__pfx_.*)$/ && module !~ /kprobe_recorder/) {
		step = count[module] > 400 ? every : 1
		if (seen[module]++ % step == 0) print name, addr, module
	  }
	  addr = $1; type = $2; name = $3; module = $4 }' /tmp/kallsyms /tmp/kallsyms > /tmp/all
[ -f /share/BUILTIN ] && awk 'NR == FNR { want[$1] = 1; next } $4 == "" && $2 ~ /[tT]/ && want[$3] { print $3, $1, "kernel" }' /share/BUILTIN /tmp/kallsyms > /tmp/all
wc -l /tmp/all
awk 'BEGIN { srand(7) } { print int(rand() * 1000000), $0 }' /tmp/all | sort -n | awk -v each=${LINES_EACH:-200} '{ print $2, $3, $4 > sprintf("/tmp/part.%03d", (NR - 1) / each) }'
for p in /tmp/part.*; do
	n=real$(echo $p | cut -d. -f2)
	cut -d' ' -f1,2 $p > /tmp/list
	cut -d' ' -f1,2,3 $p > /share/out/$n.modules
	dd if=/tmp/list of=$D/functions bs=64k 2>/dev/null
	cat $D/bytes > /share/out/$n.bytes
	while read mode; do
		echo $mode > $D/mode
		dd if=$D/rows of=/share/out/$n.part bs=256k 2>/dev/null
		mv /share/out/$n.part /share/out/$n.${mode%% *}
		echo "$n $mode $(wc -l < /share/out/$n.${mode%% *}) rows, up $(cut -d. -f1 /proc/uptime) s"
	done < /share/JOBS
done
