// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package functions

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand"
	"net/http"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/cloudevents/sdk-go/v2/event"
	cehttp "github.com/cloudevents/sdk-go/v2/protocol/http"
	"github.com/google/go-cmp/cmp"

	events "sluice.dev/apis/events/v1"
)

// Whoever reaches a function or the broker's ingress may post what he likes: where all
// is as it has to be, no object is written, on the hub or in the member, and afterwards
// the pipeline goes on. The one process has no entry for events: its stages get them
// from its own broker and watches only.
func TestZ33ForgedEventsArePosted(t *testing.T) {
	p := startAll(t)
	p.lab.apply(t, p.lab.kubeconfig("member1"), theirs)
	p.lab.apply(t, p.lab.hub, quickstart+besides)
	for reason, status := range map[string]string{"AppliedSuccessful": "True", "ExistsAndIsNotOurs": "False"} {
		p.lab.eventually(t, "hub", "get", "works.work.karmada.io", "-A", "-o", fmt.Sprintf(`jsonpath={.items[*].status.conditions[?(@.reason==%q)].status}`, reason), status)
	}
	for name, status := range map[string]string{"greeting": "True", "theirs": "False"} {
		p.lab.eventually(t, "hub", "get", "resourcebinding", name+"-configmap", "-o", `jsonpath={.status.conditions[?(@.type=="FullyApplied")].status}/{.status.aggregatedStatus[0].clusterName}`, status+"/member1")
	}
	before := p.rested(t)
	f := p.forger(t)
	forged := f.all()
	var entries sync.WaitGroup
	for _, entry := range append([]remote{{"ingress", p.ingress}}, p.stages...) {
		entries.Go(func() {
			taken := 0
			for _, e := range forged {
				switch code, err := post(t.Context(), entry.url, e); {
				case err != nil || code == http.StatusInternalServerError:
					t.Errorf("%s answers %d (%v) to %s", entry.name, code, err, e)
				case code < http.StatusMultipleChoices:
					taken++
				}
			}
			if t.Logf("%s takes %d of %d events", entry.name, taken, len(forged)); taken == 0 {
				t.Errorf("%s takes none of the events, so nothing is shown", entry.name)
			}
		})
	}
	entries.Wait()
	if diff := cmp.Diff(before, p.rested(t)); diff != "" {
		t.Fatalf("written:\n%s", diff)
	}
	p.lab.run(t, p.lab.hub, "patch", "configmap", "greeting", "--type=merge", "-p", `{"data":{"hello":"again"}}`)
	p.lab.eventually(t, "member1", "get", "configmap", "greeting", "-o", "jsonpath={.data.hello}", "again")
}

// besides the quickstart there are a template that is held, one of which the member has
// somebody else's, and one that no policy selects.
const besides = `---
apiVersion: policy.karmada.io/v1alpha1
kind: PropagationPolicy
metadata: {name: held, namespace: default}
spec:
  suspension: {dispatching: true}
  resourceSelectors: [{apiVersion: v1, kind: ConfigMap, name: held}]
  placement: {clusterAffinity: {clusterNames: [member1]}}
---
apiVersion: policy.karmada.io/v1alpha1
kind: PropagationPolicy
metadata: {name: theirs, namespace: default}
spec:
  resourceSelectors: [{apiVersion: v1, kind: ConfigMap, name: theirs}]
  placement: {clusterAffinity: {clusterNames: [member1]}}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: held, namespace: default}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: theirs, namespace: default}
data: {a: "1"}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: waits, namespace: default}
`

const theirs = `
apiVersion: v1
kind: ConfigMap
metadata: {name: theirs, namespace: default}
data: {mine: "yes"}
`

// rested returns the versions of all objects in hub and member, when some ticks have
// found nothing to do.
func (p pipeline) rested(t *testing.T) []string {
	t.Helper()
	var last []string
	same := time.Now()
	wait(t, "nothing is written for five ticks", func() bool {
		now := append(p.lab.versions(t, "hub"), p.lab.versions(t, "member1")...)
		if !slices.Equal(last, now) {
			last, same = now, time.Now()
		}
		return time.Since(same) > 12*time.Second
	})
	return last
}

// versions lists uid and version of all objects but those that API servers write by
// themselves.
func (l lab) versions(t *testing.T, cluster string) []string {
	t.Helper()
	kubectl := func(args ...string) string {
		out, err := exec.Command(labTool("kube"), append([]string{"kubectl", "--kubeconfig", l.kubeconfig(cluster)}, args...)...).Output() //nolint:gosec // own program
		if err != nil {
			t.Fatalf("kubectl %v: %v", args, err)
		}
		return strings.TrimSpace(string(out))
	}
	kinds := slices.DeleteFunc(strings.Fields(kubectl("api-resources", "--verbs=list,watch", "-o", "name")), func(kind string) bool {
		return strings.HasPrefix(kind, "leases.") || strings.HasPrefix(kind, "leasecandidates.") || kind == "events.events.k8s.io"
	})
	lines := strings.Split(kubectl("get", strings.Join(kinds, ","), "-A", "--no-headers", "-o",
		"custom-columns=KIND:.kind,NAMESPACE:.metadata.namespace,NAME:.metadata.name,UID:.metadata.uid,VERSION:.metadata.resourceVersion"), "\n")
	for i := range lines {
		lines[i] = cluster + " " + strings.Join(strings.Fields(lines[i]), " ")
	}
	slices.Sort(lines)
	return lines
}

// forger makes events of what there is, and of what is nobody's.
type forger struct {
	templates, bindings, policies, works []any
	whole                                []map[string]any
}

func object(kv ...string) map[string]any {
	o := map[string]any{}
	for i := 0; i < len(kv); i += 2 {
		o[kv[i]] = kv[i+1]
	}
	return o
}

func (p pipeline) forger(t *testing.T) forger {
	t.Helper()
	f := forger{
		bindings: []any{nil, object("namespace", "default", "name", "none-configmap"), object("namespace", "default/..", "name", "greeting-configmap")},
		policies: []any{nil, object("scope", "Namespaced", "namespace", "default", "name", "none")},
		works:    []any{nil, object("cluster", "member1/", "name", "x"), object("cluster", "../x", "name", "greeting-configmap")},
		templates: []any{
			nil, object("apiVersion", "v1", "kind", "Namespace", "name", "default"), object("apiVersion", "v1", "kind", "ConfigMap", "namespace", "default", "name", "../x"),
			object("apiVersion", "v9", "kind", "ConfigMap", "namespace", "default", "name", "greeting"), object("apiVersion", "v1", "kind", "configmap", "namespace", "default", "name", "greeting"),
		},
	}
	works := map[string]string{}
	for _, line := range p.lab.versions(t, "hub") {
		if w := strings.Fields(line); w[1] == "Work" && w[2] == "karmada-es-member1" {
			name, _, _ := strings.Cut(w[3], "-configmap")
			works[name] = w[3]
		}
	}
	for _, name := range []string{"greeting", "held", "theirs", "waits", "none"} {
		template, binding := object("apiVersion", "v1", "kind", "ConfigMap", "namespace", "default", "name", name), object("namespace", "default", "name", name+"-configmap")
		policy, work := object("scope", "Namespaced", "namespace", "default", "name", name), object("cluster", "member1", "name", works[name])
		f.templates, f.bindings, f.policies = append(f.templates, template), append(f.bindings, binding), append(f.policies, policy)
		if works[name] == "" {
			continue
		}
		f.works = append(f.works, work)
		whole := map[string]any{"template": template, "binding": binding, "policy": policy, "previous": policy, "work": work, "cluster": "member1"}
		f.whole = append(f.whole, whole, maps.Clone(whole))
		f.whole[len(f.whole)-1]["reason"] = "TemplateDeleting"
	}
	if len(works) != 3 {
		t.Fatalf("the Works are %v", works)
	}
	return f
}

// all returns the same events each time: of each type some that fit what there is, some
// whose extensions say something else, and some whose parts were chosen at random.
func (f forger) all() []event.Event {
	var out []event.Event
	random := rand.New(rand.NewSource(33)) //nolint:gosec // the same each time
	one := func(of []any) any { return of[random.Intn(len(of))] }
	types := append(slices.Sorted(maps.Keys(events.Catalog)), events.ResourceAdded, events.ResourceUpdated, events.ResourceDeleted, events.Ping, "dev.sluice.nonsense")
	for _, kind := range types {
		var data []map[string]any
		for _, whole := range f.whole {
			data = append(data, maps.Clone(whole))
		}
		for range 2 {
			d := map[string]any{}
			for key, of := range map[string][]any{
				"template": f.templates, "binding": f.bindings, "policy": f.policies, "previous": f.policies, "work": f.works,
				"cluster": {nil, "member1", "none", "member1/", "../x"}, "placement": {nil, "none", "../x"}, "continue": {nil, "x", "100"},
				"reason": {nil, "Due", "Wanted", "PolicyGone", "TemplateDeleting", "ClusterLeft"}, "workVersion": {nil, "1", "999999999"}, "schedulerName": {nil, "theirs"},
			} {
				if v := one(of); v != nil {
					d[key] = v
				}
			}
			data = append(data, d)
		}
		for i, d := range data {
			out = append(out, forged(fmt.Sprint(kind, "-", i), kind, d, nil))
			if i%4 == 0 {
				out = append(out, forged(fmt.Sprint(kind, "-differs-", i), kind, d, map[string]string{
					events.ExtCluster: "member2", events.ExtName: "waits", events.ExtNamespace: "kube-system", events.ExtKind: "Secret",
				}))
			}
		}
	}
	return append(out, f.ofSources()...)
}

// ofSources are events as of Knative's sources: that things were deleted which are there.
func (f forger) ofSources() (out []event.Event) {
	for _, o := range []map[string]any{
		object("apiVersion", "v1", "kind", "ConfigMap", "namespace", "default", "name", "greeting"),
		object("apiVersion", "v1", "kind", "ConfigMap", "namespace", "default", "name", "none"),
		object("apiVersion", "policy.karmada.io/v1alpha1", "kind", "PropagationPolicy", "namespace", "default", "name", "greeting"),
		object("apiVersion", "policy.karmada.io/v1alpha1", "kind", "PropagationPolicy", "namespace", "default", "name", "held"),
		object("apiVersion", "work.karmada.io/v1alpha2", "kind", "ResourceBinding", "namespace", "default", "name", "greeting-configmap"),
		object("apiVersion", "work.karmada.io/v1alpha1", "kind", "Work", "namespace", "karmada-es-member1", "name", f.works[len(f.works)-1].(map[string]any)["name"].(string)),
		object("apiVersion", "cluster.karmada.io/v1alpha1", "kind", "Cluster", "name", "member1"),
		object("apiVersion", "v1", "kind", "Namespace", "name", "karmada-es-member1"),
	} {
		for _, kind := range []string{events.ResourceAdded, events.ResourceUpdated, events.ResourceDeleted} {
			out = append(out, forged(fmt.Sprint(kind, o["kind"], o["name"]), kind, o, nil),
				forged(fmt.Sprint(kind, o["kind"], o["name"], "-in-a-member"), kind, o, map[string]string{events.ExtCluster: "member1"}))
		}
	}
	return out
}

// forged returns an event with the extensions that fit its data, and with others instead.
func forged(id, kind string, data map[string]any, instead map[string]string) event.Event {
	e := event.New()
	e.SetID("forged-" + id)
	e.SetSource("/forged")
	e.SetType(kind)
	raw, err := json.Marshal(data)
	if err == nil {
		err = e.SetData(event.ApplicationJSON, raw)
	}
	if err != nil {
		panic(err)
	}
	of, isTemplate := data["template"].(map[string]any)
	if !isTemplate {
		of = data
	}
	for ext, key := range map[string]string{events.ExtName: "name", events.ExtNamespace: "namespace", events.ExtKind: "kind", events.ExtAPIVersion: "apiVersion"} {
		if v, ok := of[key].(string); ok {
			e.SetExtension(ext, v)
		}
	}
	if v, ok := data["cluster"].(string); ok {
		e.SetExtension(events.ExtCluster, v)
	}
	for ext, v := range instead {
		e.SetExtension(ext, v)
	}
	return e
}

// post sends an event, and returns the status of the answer.
func post(ctx context.Context, url string, e event.Event) (int, error) {
	req, err := cehttp.NewHTTPRequestFromEvent(ctx, url, e)
	if err != nil {
		return 0, err
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0, err
	}
	return res.StatusCode, res.Body.Close()
}
