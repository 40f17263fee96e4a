# Runs inside: the text modules of /share/text, GROUP at a time. JOBS holds lines of "mode [first]".
# A symbol of a module is looked up by walking the module's table, so many small modules are faster than a large one.
D=/sys/kernel/debug/kprobe_recorder
insmod /share/kprobe_recorder.ko fast=1 || exit 1
mkdir -p /share/out
cat /proc/cpuinfo /sys/devices/system/cpu/vulnerabilities/* > /share/out/cpu.txt
record() {
	[ $# = 0 ] && return
	last=$(echo $1)
	fgrep '[kpt' /proc/kallsyms | awk '$2 ~ /[tT]/ && $3 !~ /^(text_end|init_module|cleanup_module)$/ { print $3, $1 }' > /tmp/list
	dd if=/tmp/list of=$D/functions bs=64k 2>/dev/null
	cat $D/bytes > /share/out/$last.bytes
	while read mode; do
		echo $mode > $D/mode
		dd if=$D/rows of=/share/out/$last.${mode%% *}.part bs=256k 2>/dev/null
		mv /share/out/$last.${mode%% *}.part /share/out/$last.${mode%% *}
		echo "$last $mode $(wc -l < /share/out/$last.${mode%% *}) rows, up $(cut -d. -f1 /proc/uptime) s"
	done < /share/JOBS
	for m in $*; do rmmod $m; done
}
n=0
group=
for ko in /share/text/*.ko; do
	m=$(basename $ko .ko)
	insmod $ko || continue
	group="$group $m"
	n=$((n + 1))
	[ $n = ${GROUP:-64} ] && { record $group; group=; n=0; }
done
record $group
