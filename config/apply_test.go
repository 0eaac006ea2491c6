// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package config

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/yaml"
)

// kubectl answers for a cluster that has everything but what $LACKS matches;
// namespaces say the version $VERSION, Eventing's features that tokens are $TOKENS, the
// Broker's channel that $MAKER made it. Where Sluice is installed there is $BROKER, and
// functions take tokens for $AUDIENCE.
// It writes down what would change anything.
const kubectl = `#!/usr/bin/env bash
line="$*"
[[ -z $LACKS || ! $line =~ $LACKS ]] || exit 1
case $line in
  *"get namespace"*) printf %s "$VERSION" ;;
  *"get configmap config-features"*) printf %s "$TOKENS" ;;
  *OIDC_AUDIENCE*) printf %s "$AUDIENCE" ;;
  *"get broker"*) printf %s "$BROKER" ;;
  *"get configmap functions"*)
    settings=$BEFORE
    [[ ! -e $CHANGES ]] || ! grep -q ^apply "$CHANGES" || settings=$AFTER
    [[ -n $settings ]] && echo "$settings"
    ;;
  *"get secret redis"*password*) printf %s "$PASSWORD" ;;
  *"get ksvc"*) echo ksvc/gate ksvc/renderer ;;
  kustomize*) echo "$RENDERED" ;;
  *"get inmemorychannel"*) printf %s "$MAKER" ;;
  version | "get crd/"* | *" get "* | "auth can-i"*) ;;
  *"-f -") { echo "kubectl $line" && cat; } >>"$CHANGES" ;;
  *) echo "kubectl $line" >>"$CHANGES" ;;
esac
`

// golang stands in the place of go, to see what ko would be asked for.
const golang = `#!/usr/bin/env bash
echo "${*:4}" >>"$CHANGES"
`

func TestApplySaysAllThatIsMissingBeforeItChangesAnything(t *testing.T) {
	const changed = "apply -R -f config/"
	tests := map[string]struct {
		lacks, version, tokens, overlays string
		noRegistry                       bool
		want                             []string // what is missing; none: it is applied
	}{
		"nothing is missing":                 {},
		"a recent release is fine":           {version: "1.23.4"},
		"a version that nobody knows is":     {version: "devel"},
		"a recent module is":                 {version: "v0.50.1"},
		"no cluster answers":                 {lacks: "^version", want: []string{"no cluster answers"}},
		"Serving is missing":                 {lacks: "services.serving", want: []string{"Knative Serving is not installed"}},
		"Eventing is missing":                {lacks: "eventing.knative.dev", want: []string{"not installed (brokers", "not installed (triggers", "not installed (eventtypes"}},
		"a source is missing":                {lacks: "containersources", want: []string{"has no containersources"}},
		"Serving is too old":                 {version: "v1.14.9", want: []string{"Serving is v1.14.9", "Eventing is v1.14.9"}},
		"Eventing is too old":                {version: "0.49.0", want: []string{"Eventing is 0.49.0"}},
		"there is no default class":          {lacks: "config-br-defaults", want: []string{"no default Broker class"}},
		"somebody is no administrator":       {lacks: "can-i", want: []string{"may not create ClusterRoles", "may not patch ClusterRoles"}},
		"there is no registry":               {noRegistry: true, want: []string{"KO_DOCKER_REPO is not set"}},
		"several things are, said at once":   {lacks: "services.serving|pingsources", noRegistry: true, want: []string{"Knative Serving", "pingsources", "KO_DOCKER_REPO"}},
		"an overlay that does not exist":     {overlays: "nonsense", want: []string{"examples/overlays/nonsense is no overlay"}},
		"Kafka needs its own Broker":         {overlays: "kafka", lacks: "kafka-broker-receiver", want: []string{"Kafka Broker is not installed"}},
		"tokens need the feature of Knative": {overlays: "oidc", want: []string{"needs authentication-oidc: enabled"}},
		"another hub needs credentials":      {overlays: "hub-kubeconfig", lacks: "secret hub-", want: []string{"no credentials for the hub"}},
		"tokens where the feature is on":     {overlays: "oidc", tokens: "enabled"},
		"another hub and tokens at once":     {overlays: "oidc hub-kubeconfig", tokens: "enabled"},
		"Kafka needs no default class":       {overlays: "kafka", lacks: "config-br-defaults"},
		"overlays by name and by path go on": {overlays: "redis-external examples/overlays/kafka"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			env := []string{"LACKS=" + tc.lacks, "VERSION=" + tc.version, "TOKENS=" + tc.tokens, "OVERLAYS=" + tc.overlays}
			if tc.noRegistry {
				env = append(env, "KO_DOCKER_REPO=")
			}
			changes, out, err := apply(t, env...)
			if len(tc.want) == 0 {
				want := changed
				if tc.overlays != "" {
					want = "apply -f _output/overlay/all.yaml"
				}
				if err != nil || !strings.Contains(changes, "\n"+want+"\n") {
					t.Errorf("%v, changed, want %q:\n%s\n%s", err, want, changes, out)
				}
				return
			}
			if err == nil || len(changes) > 0 {
				t.Errorf("%v, changed:\n%s", err, changes)
			}
			var got []string
			for line := range strings.Lines(out) {
				if line = strings.TrimSpace(line); strings.HasPrefix(line, "- ") {
					got = append(got, line)
				}
			}
			said := len(got) == len(tc.want)
			for i := range tc.want {
				said = said && strings.Contains(got[i], tc.want[i])
			}
			if !said {
				t.Errorf("said (-want +got)\n%s\n%s", cmp.Diff(tc.want, got), out)
			}
		})
	}
}

func TestZ36CallersAreCheckedWhereKnativeHasTokens(t *testing.T) {
	const warning = "WARNING: functions take events from whoever reaches them"
	for name, tc := range map[string]struct {
		env     []string
		checked bool
		want    string // what is said aloud
	}{
		"it has them":                                {env: []string{"TOKENS=enabled"}, checked: true},
		"it has them, beside another overlay":        {env: []string{"TOKENS=enabled", "OVERLAYS=locked"}, checked: true},
		"it has them, and that is asked for":         {env: []string{"TOKENS=enabled", "OVERLAYS=oidc"}, checked: true},
		"they are in use":                            {env: []string{"TOKENS=enabled", "BROKER=broker/sluice", "AUDIENCE=sluice-functions"}, checked: true},
		"it has them since Sluice was installed":     {env: []string{"TOKENS=enabled", "BROKER=broker/sluice"}, want: "remove it, and install it anew"},
		"it has none":                                {want: "authentication-oidc"},
		"it has none, beside another overlay":        {env: []string{"OVERLAYS=locked"}, want: "authentication-oidc"},
		"it allows them, and that is not enough":     {env: []string{"TOKENS=allowed"}, want: "authentication-oidc"},
		"nobody can tell, for Eventing says nothing": {env: []string{"LACKS=config-features"}, want: "authentication-oidc"},
	} {
		t.Run(name, func(t *testing.T) {
			_, out, err := apply(t, tc.env...)
			if err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
			if strings.Contains(out, warning) != (tc.want != "") || !strings.Contains(out, tc.want) {
				t.Errorf("said, want a warning with %q:\n%s", tc.want, out)
			}
			if !tc.checked {
				return
			}
			raw, err := os.ReadFile("../_output/overlay/kustomization.yaml")
			if err != nil || strings.Count(string(raw), "examples/overlays/oidc") != 1 {
				t.Errorf("applied, want the overlay oidc once, %v:\n%s", err, raw)
			}
		})
	}
}

// What the functions read when they start is no part of their Services: that it
// changed would come to nothing until the next of their pods.
func TestApplyStartsFunctionsAnewWhereTheirSettingsChanged(t *testing.T) {
	for name, tc := range map[string]struct {
		before, after string
		anew          bool
	}{
		"tokens are verified from now on": {before: "{}", after: `{"OIDC_AUDIENCE":"x"}`, anew: true},
		"nothing changed":                 {before: "{}", after: "{}"},
		"it is the first time":            {after: "{}"},
	} {
		t.Run(name, func(t *testing.T) {
			changes, out, err := apply(t, "BEFORE="+tc.before, "AFTER="+tc.after, "PASSWORD=c2VjcmV0")
			if err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
			for _, service := range []string{"gate", "renderer"} {
				if got := strings.Contains(changes, "kubectl -n sluice-system patch ksvc/"+service+" "); got != tc.anew {
					t.Errorf("%s starts anew: %t, want %t\n%s", service, got, tc.anew, changes)
				}
			}
		})
	}
}

func TestZ36RedisGetsAPasswordOnce(t *testing.T) {
	const restart = "kubectl -n sluice-system rollout restart deployment/redis"
	for name, tc := range map[string]struct {
		env                []string
		password, restarts bool
	}{
		"the first time":                   {password: true},
		"it ran without one":               {env: []string{"BEFORE={}", "AFTER={}"}, password: true, restarts: true},
		"it has one":                       {env: []string{"BEFORE={}", "AFTER={}", "PASSWORD=c2VjcmV0"}},
		"beside an overlay, as above":      {env: []string{"OVERLAYS=locked", "RENDERED=redis-server"}, password: true},
		"there is none of ours to have it": {env: []string{"OVERLAYS=redis-external"}},
	} {
		t.Run(name, func(t *testing.T) {
			seen := map[string]bool{}
			for range 2 {
				changes, out, err := apply(t, tc.env...)
				if err != nil {
					t.Fatalf("%v\n%s", err, out)
				}
				m := regexp.MustCompile(`stringData: \{password: "([0-9a-f]{48})", redis.conf: "requirepass ([0-9a-f]{48})"\}`).FindStringSubmatch(changes)
				if (m != nil) != tc.password || strings.Contains(changes, restart) != tc.restarts {
					t.Fatalf("a password %t, and Redis starts anew %t, want %t and %t\n%s", m != nil, strings.Contains(changes, restart), tc.password, tc.restarts, changes)
				}
				if m == nil {
					continue
				}
				if m[1] != m[2] || seen[m[1]] || strings.Index(changes, m[1]) > strings.Index(changes, "\napply -") {
					t.Errorf("the password is no new one, or comes late:\n%s", changes)
				}
				if strings.Contains(out, m[1]) {
					t.Errorf("the password is said: %s", out)
				}
				seen[m[1]] = true
			}
		})
	}
}

// A channel of the Broker's own making answers only when every subscriber has.
func TestApplyMakesAChannelAnewThatTheBrokerMade(t *testing.T) {
	for name, tc := range map[string]struct {
		maker string
		anew  bool
	}{
		"the Broker was there first":  {maker: "system:serviceaccount:knative-eventing:eventing-controller", anew: true},
		"who installs Sluice made it": {maker: "admin"},
		"there is none":               {},
	} {
		t.Run(name, func(t *testing.T) {
			changes, out, err := apply(t, "MAKER="+tc.maker)
			if err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
			gone := strings.Index(changes, "kubectl -n sluice-system delete broker sluice --ignore-not-found\n"+
				"kubectl -n sluice-system delete inmemorychannel sluice-kne-trigger --ignore-not-found\n")
			if anew := gone >= 0 && gone < strings.Index(changes, "apply -R"); anew != tc.anew {
				t.Errorf("made anew: %t, want %t\n%s", anew, tc.anew, changes)
			}
		})
	}
}

// kubectl sluice version says it.
func TestApplyNotesWhichVersionItInstalled(t *testing.T) {
	changes, out, err := apply(t)
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	m := regexp.MustCompile(`kubectl annotate --overwrite namespace sluice-system sluice.dev/version=(\S+)\n`).FindStringSubmatchIndex(changes)
	if m == nil || m[0] < strings.Index(changes, "apply -R") {
		t.Errorf("no version is noted once all is applied:\n%s", changes)
	}
}

// apply runs make apply's script, and tells what it changed and said.
func apply(t *testing.T, env ...string) (changes, out string, err error) {
	t.Helper()
	dir := t.TempDir()
	for program, text := range map[string]string{"kubectl": kubectl, "go": golang} {
		if err := os.WriteFile(filepath.Join(dir, program), []byte(text), 0o755); err != nil { //nolint:gosec // they are run
			t.Fatal(err)
		}
	}
	log := filepath.Join(dir, "changes")
	cmd := exec.CommandContext(t.Context(), "bash", "../tools/ko/apply.sh")
	cmd.Env = append(os.Environ(), "PATH="+dir+":"+os.Getenv("PATH"), "CHANGES="+log, "KO_DOCKER_REPO=registry.example.com")
	cmd.Env = append(cmd.Env, env...)
	said, err := cmd.CombinedOutput()
	changed, _ := os.ReadFile(log)
	return string(changed), string(said), err
}

// hubKubectl answers for a hub with three accounts, and keeps what is applied.
const hubKubectl = `#!/usr/bin/env bash
case $* in
  *"get serviceaccounts"*) printf %s "deadletter detector source" ;;
  *"create token"*) printf %s "token-of-$7" ;;
  *certificate-authority-data*) printf %s Q0E= ;;
  *clusters*server*) printf %s https://hub.example.com:6443 ;;
  "apply -f -") cat >"$CHANGES.$(ls "$CHANGES".* 2>/dev/null | wc -l)" ;;
esac
`

func TestEachFunctionsCredentialsAtTheHubAreItsOwn(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "kubectl"), []byte(hubKubectl), 0o755); err != nil { //nolint:gosec // it is run
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), "bash", "../examples/overlays/hub-kubeconfig/credentials.sh", "hub.yaml")
	cmd.Env = append(os.Environ(), "PATH="+dir+":"+os.Getenv("PATH"), "CHANGES="+filepath.Join(dir, "made"))
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for i, account := range []string{"detector", "source"} { // deadletter asks the hub nothing
		raw, err := os.ReadFile(filepath.Join(dir, fmt.Sprintf("made.%d", i)))
		if err != nil {
			t.Fatal(err)
		}
		var s corev1.Secret
		if err := yaml.UnmarshalStrict(raw, &s); err != nil {
			t.Fatal(err)
		}
		if s.Name != "hub-"+account || s.Namespace != "sluice-system" || s.StringData["token"] != "token-of-"+account {
			t.Errorf("made %+v, want that of %s", s, account)
		}
		mounted := t.TempDir()
		for key, value := range s.StringData {
			if err := os.WriteFile(filepath.Join(mounted, key), []byte(value), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		cfg, err := clientcmd.BuildConfigFromFlags("", filepath.Join(mounted, "kubeconfig"))
		if err != nil || cfg.Host != "https://hub.example.com:6443" || cfg.BearerTokenFile != filepath.Join(mounted, "token") || string(cfg.CAData) != "CA" {
			t.Errorf("leads to %+v, %v", cfg, err)
		}
	}
}
