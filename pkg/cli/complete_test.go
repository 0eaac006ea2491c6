// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"bytes"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/client-go/tools/clientcmd"

	"sluice.dev/pkg/core/propagation"
)

func TestComplete(t *testing.T) {
	hub := shopInEachState(t)
	for line, want := range map[string]string{
		"unjoin ":                      "member1 member2 member3 :4",
		"unjoin member1 ":              ":4",
		"explain ":                     "clusterrole/ cpp/ deployment/ pp/ :6",
		"explain deployment/":          "deployment/broken deployment/fine deployment/waits :4",
		"explain deployment/f":         "deployment/fine :4",
		"get deployment/fine ":         "clusterrole/ deployment/ :6",
		"activate --policy ":           "cpp/ pp/ :6",
		"activate --policy pp/":        "pp/web :4",
		"get -o ":                      "wide name json yaml :4",
		"get -n ":                      "kube-system :4",
		"completion ":                  "kubectl bash zsh fish powershell :4",
		"join m --cluster-kubeconfig ": ":0",
	} {
		t.Run(line, func(t *testing.T) {
			t.Setenv("KUBECONFIG", hub.kubeconfig())
			t.Setenv("HOME", t.TempDir())
			var out, errOut bytes.Buffer
			streams := genericiooptions.IOStreams{In: strings.NewReader(""), Out: &out, ErrOut: &errOut}
			if code := Run(t.Context(), streams, append([]string{"__complete"}, strings.Split(line, " ")...)); code != 0 {
				t.Fatal(errOut.String())
			}
			if diff := cmp.Diff(want, strings.Join(strings.Fields(out.String()), " ")); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestCompletionScripts(t *testing.T) {
	hub := serve(t, "hub")
	for shell, want := range map[string]string{"kubectl": "exec kubectl-sluice __complete", "bash": "__start_kubectl-sluice", "zsh": "#compdef", "fish": "complete -c kubectl-sluice", "powershell": "Register-ArgumentCompleter"} {
		a := run(t, hub, "completion", shell)
		a.wants(t, "")
		if !strings.Contains(a.out, want) {
			t.Errorf("%s: no %q in\n%s", shell, want, a.out)
		}
	}
	run(t, hub, "completion", "csh").wants(t, `unknown shell "csh"`)
}

func TestVersion(t *testing.T) {
	hub := serve(t, "hub").shop()
	a := run(t, hub, "version")
	a.wants(t, "")
	if strings.Contains(a.out, "Gates") {
		t.Errorf("of gates that are understood it said %q", a.out)
	}
	if !strings.HasPrefix(a.out, "Client: ") || !strings.Contains(a.out, "Hub:    Kubernetes v1.99.0 at "+hub.url) {
		t.Errorf("said %q", a.out)
	}
	hub.refuse = failing("/version", 503)
	a = run(t, hub, "version", "-o", "json")
	a.wants(t, "ask the hub for its version")
	if !strings.Contains(a.out, `"client"`) {
		t.Errorf("the client's version is not shown: %q", a.out)
	}
	hub.refuse = nil
	if a := run(t, hub, "version", "--client"); strings.Contains(a.out, "Hub") {
		t.Errorf("said %q", a.out)
	}
}

func TestZ12VersionAndExplainTellOfMissingGates(t *testing.T) {
	hub := explainShop(t)
	hub.remove("v1/ConfigMap/" + propagation.SystemNamespace + "/" + propagation.FeaturesName)
	for _, args := range [][]string{{"version"}, {"version", "-o", "json"}, {"explain", "deploy/nginx"}} {
		a := run(t, hub, args...)
		a.wants(t, "")
		for _, w := range []string{"Gates", "sluice-system/config-features is missing", "kubectl apply -f config/400-config/features.yaml"} {
			if !strings.Contains(strings.ToLower(a.out), strings.ToLower(w)) {
				t.Errorf("%v does not say %s, but %q", args, w, a.out)
			}
		}
	}
}

func TestEachCommandTeachesByExample(t *testing.T) {
	root := New(genericiooptions.IOStreams{In: strings.NewReader(""), Out: &bytes.Buffer{}, ErrOut: &bytes.Buffer{}})
	for _, c := range root.Commands() {
		if c.Name() == "options" || c.Name() == "help" {
			continue
		}
		if !strings.Contains(c.Example, "kubectl sluice "+c.Name()) {
			t.Errorf("%s has no example of itself", c.Name())
		}
		for line := range strings.Lines(c.Example) {
			if len(line) > 100 {
				t.Errorf("%s: the example %q is too long", c.Name(), line)
			}
		}
	}
}

func TestTheHubThatDoesNotAnswer(t *testing.T) {
	hub := serve(t, "hub")
	hub.refuse = failing("/", http.StatusUnauthorized)
	run(t, hub, "get").wants(t, "The hub does not accept these credentials: are they still valid?")
	hub.url = "http://127.0.0.1:1"
	run(t, hub, "get").wants(t, "Is the hub running, and is it the one that --kubeconfig and --context name?")
	if got := explainError(clientcmd.ErrEmptyConfig); !strings.Contains(got, "--kubeconfig FILE") {
		t.Errorf("said %q", got)
	}
}

func TestRefOf(t *testing.T) {
	for want, k := range map[string]propagation.TemplateKey{
		"deployment/nginx":      {APIVersion: "apps/v1", Kind: "Deployment", Name: "nginx"},
		"configmap/nginx":       {APIVersion: "v1", Kind: "ConfigMap", Name: "nginx"},
		"clusterrole/nginx":     {APIVersion: "rbac.authorization.k8s.io/v1", Kind: "ClusterRole", Name: "nginx"},
		"gadget.example.com/x1": {APIVersion: "example.com/v1", Kind: "Gadget", Name: "x1"},
	} {
		if got := refOf(k); got != want {
			t.Errorf("%v is %s, want %s", k, got, want)
		}
	}
}
