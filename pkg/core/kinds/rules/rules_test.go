// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package rules_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/yaml"

	configv1alpha1 "sluice.dev/apis/config/v1alpha1"
	"sluice.dev/pkg/core/kinds"
	"sluice.dev/pkg/core/kinds/rules"
	"sluice.dev/pkg/core/propagation"
)

func object(t *testing.T, text string) map[string]any {
	t.Helper()
	raw, err := yaml.YAMLToJSON([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	var obj map[string]any
	if err := json.Unmarshal(raw, &obj); err != nil {
		t.Fatal(err)
	}
	return obj
}

// spec is that of Widgets with these rules.
func spec(t *testing.T, text string) configv1alpha1.ResourceInterpreterSpec {
	t.Helper()
	s := configv1alpha1.ResourceInterpreterSpec{Target: configv1alpha1.Target{APIVersion: "example.com/v1", Kind: "Widget"}}
	if err := yaml.UnmarshalStrict([]byte(text), &s.Rules); err != nil {
		t.Fatal(err)
	}
	return s
}

// widgets is what is known of Widgets with these rules, all of which are right.
func widgets(t *testing.T, text string) kinds.Kind {
	t.Helper()
	s := spec(t, text)
	own, faults := rules.Compile(s)
	if len(faults) > 0 {
		t.Fatalf("%s: %v", text, faults)
	}
	_ = own
	return table(t, s).Named(rules.KindOf(s.Target))
}

func table(t *testing.T, s configv1alpha1.ResourceInterpreterSpec) kinds.Table {
	t.Helper()
	o := &configv1alpha1.ResourceInterpreter{Spec: s}
	o.Name, o.UID = "widgets", "u"
	return rules.Table([]*rules.Interpreter{rules.Of(o)})
}

const widget = "{apiVersion: example.com/v1, kind: Widget, metadata: {name: w, namespace: shop, generation: 2}, %s}"

// says is an answer or the error, as text.
func says(v any, err error) string {
	if err != nil {
		return "error: " + err.Error()
	}
	return fmt.Sprint(v)
}

func TestReplicas(t *testing.T) {
	for name, tc := range map[string]struct{ rule, obj, want, set string }{
		"at the path":               {`{path: spec.size}`, `spec: {size: 5}`, "5", "map[size:2]"},
		"not told where it is not":  {`{path: spec.size}`, `spec: {}`, "error: spec.size: the object has no such field: where it may be absent, write an expression, such as object.?spec.?size.orValue(1)", "map[size:2]"},
		"deep in what is not there": {`{path: spec.pool.size}`, `spec: {}`, "error: spec.pool.size: the object has no such field: where it may be absent, write an expression, such as object.?spec.?pool.?size.orValue(1)", "map[pool:map[size:2]]"},
		"where it may be absent":    {`{path: spec.size, expression: "object.?spec.?size.orValue(1)"}`, `spec: {}`, "1", "map[size:2]"},
		"null":                      {`{path: spec.size}`, `spec: {size: null}`, "error: spec.size: is <nil>: want a whole number of replicas", "map[size:2]"},
		"as an expression says":     {`{path: spec.size, expression: "has(object.spec.size) ? object.spec.size : 3"}`, `spec: {}`, "3", "map[size:2]"},
		"0 is a number":             {`{path: spec.size}`, `spec: {size: 0}`, "0", "map[size:2]"},
		"what is no number":         {`{path: spec.size}`, `spec: {size: many}`, "error: spec.size: is many: want a whole number of replicas", "map[size:2]"},
		"a number below 0":          {`{path: spec.size}`, `spec: {size: -1}`, "error: spec.size: is -1: want a whole number of replicas", "map[size:2]"},
		"half a replica":            {`{path: spec.size, expression: object.spec.size}`, `spec: {size: 1.5}`, "error: spec.rules.replicas.expression: is 1.5: want a whole number of replicas", "map[size:2]"},
		"more than there may be":    {`{path: spec.size}`, `spec: {size: 4294967296}`, "error: spec.size: is 4294967296: want a whole number of replicas", "map[size:2]"},
		"a field that is not there": {`{path: spec.size, expression: object.spec.sise}`, `spec: {size: 1}`, "error: spec.rules.replicas.expression: object.spec.sise: no such key: sise", "map[size:2]"},
		"a list in the way":         {`{path: spec.pool.size, expression: "1"}`, `spec: {pool: [a]}`, "1", "error: spec.pool is no object"},
	} {
		obj := object(t, fmt.Sprintf(widget, tc.obj))
		k := widgets(t, "replicas: "+tc.rule)
		if got := says(k.Replicas(obj)); got != tc.want {
			t.Errorf("%s: %s, want %s", name, got, tc.want)
		}
		err := k.SetReplicas(obj, 2)
		if got := says(obj["spec"], err); got != tc.set {
			t.Errorf("%s: %s, want %s", name, got, tc.set)
		}
	}
}

func TestHealth(t *testing.T) {
	for name, tc := range map[string]struct{ rule, obj, want string }{
		"true is healthy":             {`object.status.phase == 'Ready'`, `status: {phase: Ready}`, "Healthy"},
		"false is not":                {`object.status.phase == 'Ready'`, `status: {phase: Down}`, "Unhealthy"},
		"a word":                      {`has(object.status) ? 'Healthy' : 'Unknown'`, `spec: {}`, "Unknown"},
		"another word":                {`object.status.phase`, `status: {phase: Fine}`, "error: spec.rules.health.expression: says Fine: want a bool, 'Healthy', 'Unhealthy' or 'Unknown'"},
		"a status that is not there":  {`object.status.phase == 'Ready'`, `spec: {}`, "error: spec.rules.health.expression: object.status.phase == 'Ready': no such key: status"},
		"a status that may be absent": {`object.?status.?phase.orValue('') == 'Ready'`, `spec: {}`, "Unhealthy"},
		"whatever is being deleted":   {`true`, `metadata: {name: w, deletionTimestamp: now}`, "Unhealthy"},
		"numbers of different forms":  {`object.status.ready >= object.spec.size`, `spec: {size: 2}, status: {ready: 2.5}`, "Healthy"},
	} {
		text := widget
		if strings.HasPrefix(tc.obj, "metadata") {
			text = "{apiVersion: example.com/v1, kind: Widget, %s}"
		}
		if got := says(widgets(t, fmt.Sprintf("health: {expression: %q}", tc.rule)).Health(object(t, fmt.Sprintf(text, tc.obj)))); got != tc.want {
			t.Errorf("%s: %s, want %s", name, got, tc.want)
		}
	}
}

func TestStatusOfMembersAndTemplate(t *testing.T) {
	k := widgets(t, `
status: {expression: "{'ready': object.status.ready, 'observedGeneration': object.status.observedGeneration}"}
aggregatedStatus: {expression: "{'ready': members.map(m, m.status.ready).sum(), 'where': members.map(m, m.cluster), 'old': null}"}
`)
	got, err := k.Report(object(t, fmt.Sprintf(widget, "status: {ready: 2, observedGeneration: 2, secret: x}")))
	if d := cmp.Diff(map[string]any{"ready": int64(2), "observedGeneration": int64(2), "generation": int64(2)}, got); d != "" || err != nil {
		t.Errorf("reported: %v; -want +got\n%s", err, d)
	}
	if !(kinds.Member{Status: got}).Observed() {
		t.Error("what is reported says nothing of its generation")
	}
	if got, err := k.Report(object(t, fmt.Sprintf(widget, "spec: {}"))); got != nil || err == nil {
		t.Errorf("of an object without status: %v, %v; want nothing, and why", got, err)
	}

	template := object(t, fmt.Sprintf(widget, "status: {ready: 1, old: x, theirs: mine}"))
	members := []kinds.Member{{Cluster: "m1", Status: map[string]any{"ready": int64(2)}}, {Cluster: "m2", Status: map[string]any{"ready": int64(3)}}}
	sum, ours, err := k.Total(template, members)
	want := map[string]any{"ready": int64(5), "where": []any{"m1", "m2"}, "theirs": "mine"}
	if d := cmp.Diff(want, sum); d != "" || !ours || err != nil {
		t.Errorf("total: %v, %v; -want +got\n%s", ours, err, d)
	}
	if _, ours, err := k.Total(template, append(members, kinds.Member{Cluster: "m3"})); ours || err == nil {
		t.Errorf("of a member that reports nothing: %v, %v; want the status left as it is, and why", ours, err)
	}
}

func TestDependencies(t *testing.T) {
	key := func(kind, name string) propagation.TemplateKey {
		return propagation.TemplateKey{APIVersion: "v1", Kind: kind, Namespace: "shop", Name: name}
	}
	const refers = `object.spec.uses.map(u, {'apiVersion': 'v1', 'kind': 'ConfigMap', 'name': u})`
	for name, tc := range map[string]struct {
		rule, obj string
		want      []propagation.TemplateKey
		fails     string
	}{
		"sorted and without doubles": {refers, `spec: {uses: [b, a, b]}`, []propagation.TemplateKey{key("ConfigMap", "a"), key("ConfigMap", "b")}, ""},
		"none":                       {refers, `spec: {uses: []}`, nil, ""},
		"one without a name":         {refers, `spec: {uses: [""]}`, nil, "want {apiVersion, kind, name}"},
		"one of another namespace":   {`[{'apiVersion': 'v1', 'kind': 'ConfigMap', 'namespace': 'bank', 'name': 'a'}]`, `spec: {}`, nil, "no namespace but the object's"},
		"one of its own namespace":   {`[{'apiVersion': 'v1', 'kind': 'ConfigMap', 'namespace': 'shop', 'name': 'a'}]`, `spec: {}`, []propagation.TemplateKey{key("ConfigMap", "a")}, ""},
		"what is no list":            {`object.spec`, `spec: {}`, nil, "want a list"},
	} {
		got, err := widgets(t, fmt.Sprintf("dependencies: {expression: %q}", tc.rule)).References(object(t, fmt.Sprintf(widget, tc.obj)))
		if tc.fails != "" {
			if err == nil || !strings.Contains(err.Error(), tc.fails) {
				t.Errorf("%s: %v, want an error that says %q", name, err, tc.fails)
			}
		} else if d := cmp.Diff(tc.want, got); err != nil || len(tc.want)+len(got) > 0 && d != "" {
			t.Errorf("%s: %v; -want +got\n%s", name, err, d)
		}
	}
}

func TestWhatIsWrongIsNamed(t *testing.T) {
	for name, tc := range map[string]struct{ rules, want string }{
		"a typing error":                   {`health: {expression: "object.status.phase = 'a'"}`, "spec.rules.health.expression: does not compile: "},
		"a variable that is none":          {`health: {expression: self.status}`, "spec.rules.health.expression: does not compile: ERROR: <input>:1:1: undeclared reference to 'self'"},
		"a word in place of a map":         {`status: {expression: "'a'"}`, "spec.rules.status.expression: says a string: want map"},
		"a map in place of a bool":         {`health: {expression: "{'a': 1}"}`, "spec.rules.health.expression: says a map(string, int): want bool or string"},
		"a bool in place of a list":        {`dependencies: {expression: "true"}`, "spec.rules.dependencies.expression: says a bool: want list"},
		"a text of replicas":               {`replicas: {path: spec.size, expression: "'3'"}`, "spec.rules.replicas.expression: says a string: want int or uint or double"},
		"members where there are none":     {`health: {expression: "size(members) > 0"}`, "spec.rules.health.expression: names members, which aggregatedStatus alone has"},
		"no expression":                    {`aggregatedStatus: {expression: " "}`, "spec.rules.aggregatedStatus.expression: is empty: it takes a CEL expression"},
		"too long an expression":           {`health: {expression: "` + strings.Repeat("true || ", 1100) + `true"}`, "spec.rules.health.expression: has 8804 characters: at most 8192 are allowed"},
		"replicas in a list":               {`replicas: {path: "spec.pools[0].size"}`, `spec.rules.replicas.path: "spec.pools[0].size" names an element: a path names fields of objects, as spec.size does`},
		"a member's field in the metadata": {`memberFields: [metadata.labels]`, `spec.rules.memberFields[0]: "metadata.labels" is not below spec`},
		"no path":                          {`memberFields: [spec.a, spec..b]`, `spec.rules.memberFields[1]: "spec..b" is no path: write one as spec.size`},
		"the whole spec":                   {`memberFields: [spec]`, `spec.rules.memberFields[0]: "spec" is not below spec`},
	} {
		_, faults := rules.Compile(spec(t, tc.rules))
		if len(faults) != 1 || !strings.HasPrefix(faults[0].String(), tc.want) {
			t.Errorf("%s: %v, want %s", name, faults, tc.want)
		}
	}
	for want, target := range map[string]configv1alpha1.Target{
		"spec.target.kind: a Secret has no rules":                 {APIVersion: "v1", Kind: "Secret"},
		`spec.target.kind: "" is no kind`:                         {APIVersion: "v1"},
		`spec.target.apiVersion: "a/b/c" is no version of an API`: {APIVersion: "a/b/c", Kind: "Widget"},
	} {
		if _, faults := rules.Compile(configv1alpha1.ResourceInterpreterSpec{Target: target}); len(faults) != 1 || !strings.HasPrefix(faults[0].String(), want) {
			t.Errorf("%v: %v, want %s", target, faults, want)
		}
	}
}

func TestARuleThatIsWrongFailsAndIsNotMissing(t *testing.T) {
	s := spec(t, `{replicas: {path: spec}, health: {expression: "oops("}, status: {expression: "oops("}, aggregatedStatus: {expression: "oops("}, dependencies: {expression: "oops("}}`)
	k := table(t, s).Named(rules.KindOf(s.Target))
	obj := object(t, fmt.Sprintf(widget, `spec: {replicas: 3, template: {spec: {serviceAccountName: a}}}, status: {conditions: [{type: Ready, status: "True"}]}`))
	if n, err := k.Replicas(obj); err == nil {
		t.Errorf("replicas: %d", n)
	}
	if err := k.SetReplicas(obj, 1); err == nil {
		t.Error("a share is written nowhere, and nobody says so")
	}
	if h, err := k.Health(obj); h != "Unknown" || err == nil {
		t.Errorf("health: %s, %v", h, err)
	}
	if status, err := k.Report(obj); status != nil || err == nil {
		t.Errorf("status: %v, %v", status, err)
	}
	if total, ours, err := k.Total(obj, nil); ours || err == nil {
		t.Errorf("total: %v, %v, %v", total, ours, err)
	}
	if refs, err := k.References(obj); refs != nil || err == nil {
		t.Errorf("references: %v, %v", refs, err)
	}
}

func TestAnEvaluationIsLimited(t *testing.T) {
	many := make([]any, 2000)
	for i := range many {
		many[i] = int64(i)
	}
	obj := map[string]any{"apiVersion": "example.com/v1", "kind": "Widget", "spec": map[string]any{"many": many}}
	for name, tc := range map[string]struct{ rule, want string }{
		"many times many":        {`object.spec.many.all(a, object.spec.many.all(b, a + b >= 0))`, "cost limit exceeded"},
		"a list that is doubled": {`size([object.spec.many]` + strings.Repeat(`.map(a, a + a)`, 40) + `[0]) > 0`, "cost limit exceeded"},
		"a text that is doubled": {`size(['0123456789']` + strings.Repeat(`.map(a, a + a)`, 40) + `[0]) > 0`, "cost limit exceeded"},
		"a number too large":     {`9223372036854775807 + 1 > 0`, "overflow"},
		"a division by nothing":  {`1 / size(object.spec.many.filter(a, a < 0)) > 0`, "division by zero"},
		"an element too far":     {`object.spec.many[2000] > 0`, "index out of bounds"},
	} {
		if h, err := widgets(t, fmt.Sprintf("health: {expression: %q}", tc.rule)).Health(obj); h != "Unknown" || err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: %s, %v; want an error that says %q", name, h, err, tc.want)
		}
	}
	obj["spec"] = map[string]any{"many": many[:400]}
	wide := `{'a': object.spec.many.map(a, object.spec.many)}`
	if status, err := widgets(t, fmt.Sprintf("status: {expression: %q}", wide)).Report(obj); status != nil || err == nil || !strings.Contains(err.Error(), "says more than") {
		t.Errorf("an answer of 160,000 values: %v", err)
	}
}

func TestRulesOfAKindThatSluiceKnows(t *testing.T) {
	s := spec(t, `health: {expression: "object.status.readyReplicas > 0"}`)
	s.Target = configv1alpha1.Target{APIVersion: "apps/v1", Kind: "Deployment"}
	obj := object(t, `{apiVersion: apps/v1beta1, kind: Deployment, spec: {replicas: 3}, status: {readyReplicas: 1}}`)
	k := table(t, s).Of(obj)
	if h, err := k.Health(obj); h != "Healthy" || err != nil {
		t.Errorf("health: %s, %v: the rule says otherwise", h, err)
	}
	if n, err := k.Replicas(obj); n != 3 || err != nil {
		t.Errorf("replicas: %d, %v: no rule says anything of them", n, err)
	}
}
