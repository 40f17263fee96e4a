package deploy

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"
)

type object map[string]any

// at returns what is at a path, nil if nothing is.
func (o object) at(path ...string) any {
	var v any = o
	for _, p := range path {
		m, ok := v.(object)
		if !ok {
			return nil
		}
		v = m[p]
	}
	return v
}

func (o object) of(path ...string) object {
	m, _ := o.at(path...).(object)
	return m
}

func (o object) list(path ...string) (list []object) {
	all, _ := o.at(path...).([]any)
	for _, v := range all {
		m, _ := v.(object)
		list = append(list, m)
	}
	return list
}

func objects(t *testing.T) map[string]object {
	all := make(map[string]object)
	d := yaml.NewDecoder(strings.NewReader(read(t, "kubernetes.yaml")))
	for {
		var o object
		err := d.Decode(&o)
		if errors.Is(err, io.EOF) {
			break
		}
		require.NoError(t, err)
		kind, _ := o["kind"].(string)
		require.NotContains(t, all, kind)
		all[kind] = o
	}
	return all
}

type container struct {
	args []string
	in   object
	pod  object
}

// containers lists those of the server and of workers.
func containers(t *testing.T) (list []container) {
	for _, kind := range []string{"StatefulSet", "Job"} {
		pod := objects(t)[kind].of("spec", "template", "spec")
		for _, c := range pod.list("containers") {
			one := container{in: c, pod: pod}
			args, _ := c["args"].([]any)
			for _, a := range args {
				one.args = append(one.args, fmt.Sprint(a))
			}
			list = append(list, one)
		}
	}
	require.Len(t, list, 2)
	return list
}

// TestKubernetes: what the objects name is there, under the same name.
func TestKubernetes(t *testing.T) {
	all := objects(t)
	service, set, job, policy := all["Service"], all["StatefulSet"], all["Job"], all["NetworkPolicy"]
	name := service.at("metadata", "name")
	require.Equal(t, name, set.at("spec", "serviceName"))
	labels := set.at("spec", "template", "metadata", "labels")
	require.Equal(t, labels, service.at("spec", "selector"))
	require.Equal(t, labels, set.at("spec", "selector", "matchLabels"))
	require.Equal(t, labels, policy.at("spec", "podSelector", "matchLabels"))
	require.Equal(t, job.at("spec", "template", "metadata", "labels"),
		policy.list("spec", "ingress")[0].list("from")[0].at("podSelector", "matchLabels"))
	require.Equal(t, 1, set.at("spec", "replicas"),
		"two servers of one name keep nothing together; that takes --cluster")
	require.Equal(t, "Indexed", job.at("spec", "completionMode"))
	require.Equal(t, job.at("spec", "completions"), job.at("spec", "parallelism"), "workers wait for nothing else")

	text := read(t, "kubernetes.yaml")
	for _, c := range containers(t) {
		require.Regexp(t, fixed, c.in["image"])
		require.Equal(t, true, c.pod.at("securityContext", "runAsNonRoot"))
		require.Equal(t, false, c.pod["automountServiceAccountToken"])
		require.Equal(t, object{"allowPrivilegeEscalation": false, "readOnlyRootFilesystem": true,
			"capabilities": object{"drop": []any{"ALL"}}}, c.in.of("securityContext"))
		require.NotNil(t, c.in.at("resources", "limits", "memory"))

		var volumes []string
		for _, v := range append(c.pod.list("volumes"), set.list("spec", "volumeClaimTemplates")...) {
			name, _ := v["name"].(string)
			if name == "" {
				name, _ = v.at("metadata", "name").(string)
			}
			volumes = append(volumes, name)
			secret, _ := v.at("secret", "secretName").(string)
			if secret == "" {
				continue
			}
			// The comment makes it, of the files that are used.
			_, made, ok := strings.Cut(text, "kubectl create secret generic "+secret+" ")
			require.True(t, ok, secret)
			made, _, _ = strings.Cut(continued.ReplaceAllString(made, " "), "\n")
			for _, w := range append(slices.Clone(c.args), subPaths(c.in)...) {
				if _, file, ok := strings.Cut(w, "/run/secrets/kpsim/"); ok {
					require.Contains(t, made, "/"+file)
				}
			}
		}
		for _, m := range c.in.list("volumeMounts") {
			require.Contains(t, volumes, m["name"])
		}
	}
}

// subPaths lists the files of a secret that are mounted one by one.
func subPaths(c object) (list []string) {
	for _, m := range c.list("volumeMounts") {
		if s, ok := m["subPath"].(string); ok {
			list = append(list, "/run/secrets/kpsim/"+s)
		}
	}
	return list
}
