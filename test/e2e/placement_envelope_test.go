// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"
)

// sideEffects are the kinds that would do something on the hub, and are therefore carried
// in envelopes, each with a body.
var sideEffects = []struct {
	resource
	body string
}{
	{resource{group: "admissionregistration.k8s.io", version: "v1", kind: "ValidatingWebhookConfiguration", plural: "validatingwebhookconfigurations", clusterScoped: true}, `webhooks: []`},
	{resource{group: "admissionregistration.k8s.io", version: "v1", kind: "MutatingWebhookConfiguration", plural: "mutatingwebhookconfigurations", clusterScoped: true}, `webhooks: []`},
	{resource{group: "rbac.authorization.k8s.io", version: "v1", kind: "ClusterRoleBinding", plural: "clusterrolebindings", clusterScoped: true}, `
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: none}
subjects: [{kind: Group, apiGroup: rbac.authorization.k8s.io, name: nobody}]`},
	{resource{version: "v1", kind: "ResourceQuota", plural: "resourcequotas"}, `spec: {hard: {pods: "5"}}`},
	{resource{group: "storage.k8s.io", version: "v1", kind: "StorageClass", plural: "storageclasses", clusterScoped: true}, `provisioner: example.org/none`},
	{resource{group: "flowcontrol.apiserver.k8s.io", version: "v1", kind: "FlowSchema", plural: "flowschemas", clusterScoped: true}, `
spec:
  matchingPrecedence: 9999
  priorityLevelConfiguration: {name: global-default}`},
	{resource{group: "scheduling.k8s.io", version: "v1", kind: "PriorityClass", plural: "priorityclasses", clusterScoped: true}, `value: 7`},
	{resource{group: "networking.k8s.io", version: "v1", kind: "IngressClass", plural: "ingressclasses", clusterScoped: true}, `spec: {controller: example.org/none}`},
	{resource{group: "networking.k8s.io", version: "v1", kind: "Ingress", plural: "ingresses"}, `spec: {defaultBackend: {service: {name: web, port: {number: 80}}}}`},
	{resource{group: "networking.k8s.io", version: "v1", kind: "NetworkPolicy", plural: "networkpolicies"}, `spec: {podSelector: {}, policyTypes: [Ingress]}`},
}

// enveloped is an envelope with these values.
func enveloped(namespace string, data map[string]any) template {
	return template{newThing(configMaps, namespace, "envelope").mark("annotations", fleet+"envelope-configmap", "true").with("data", data)}
}

// carriedKinds are the objects of those kinds, and the values of an envelope that carry
// them, YAML and JSON by turns.
func (s *scenario) carriedKinds() (all []thing, data map[string]any) {
	s.Helper()
	data = map[string]any{}
	for i, k := range sideEffects {
		o, name := newThing(k.resource, s.ns, "carried"), strings.ToLower(k.kind)
		if k.clusterScoped {
			o = newThing(k.resource, "", s.unique("carried")).mark("labels", scenarioLabel, s.ns)
		}
		if err := yaml.Unmarshal([]byte(k.body), &o.body); err != nil {
			s.Fatal(err)
		}
		write, ending := yaml.Marshal, ".yaml"
		if i%2 == 0 {
			write, ending = json.Marshal, ".json"
		}
		raw, err := write(o.body)
		if err != nil {
			s.Fatal(err)
		}
		data[name+ending] = string(raw)
		all = append(all, o)
	}
	return all, data
}

// Each kind that would do something on the hub comes to the members in an envelope, and
// neither to the hub nor with the envelope itself; what is no longer in it leaves.
func TestC86C87C88Envelopes(t *testing.T) {
	once(t, gatesOff, func(s *scenario) {
		all, data := s.carriedKinds()
		envelope := enveloped(s.ns, data)
		p := s.everywhere()
		s.Apply(envelope, p)
		for _, m := range items(s.Says(p, carried...), "placementStatuses") { // of an Ingress and a FlowSchema nobody can tell
			if is := text(conditionOf(map[string]any{"status": m}, "Available"), "reason"); is != "NotAllWorkAreAvailabilityTrackable" {
				s.Errorf("%s: Available %s", text(m, "clusterName"), is)
			}
		}
		for _, o := range all {
			for _, m := range members {
				s.LiveIn(m, o)
			}
			if _, err := s.lab.hub.on(o.resource, o.namespace()).Get(s.Context(), o.name(), metav1.GetOptions{}); !apierrors.IsNotFound(err) {
				s.Errorf("%s is on the hub, too: %v", o, err)
			}
		}
		s.Expect(envelope).Nowhere()
		gone := all[0]
		for key := range data {
			if strings.HasPrefix(key, strings.ToLower(gone.kind)) {
				delete(data, key)
			}
		}
		s.Apply(enveloped(s.ns, data))
		s.Expect(gone).In()
		s.Says(p, carried...)
		for _, o := range all[1:] {
			s.LiveIn(members[0], o)
		}
		s.Delete(p)
		for _, o := range all {
			s.Expect(o).In()
		}
	})
}

// What an envelope says that nobody can read fails, by its key, and the rest of the
// namespace waits with it; corrected, all of it comes.
func TestC89AnEnvelopeThatCannotBeReadIsNamed(t *testing.T) {
	once(t, gatesOff, func(s *scenario) {
		quota := func(namespace, name string) string {
			return fmt.Sprintf(`{"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": %q, "namespace": %q}, "spec": {"hard": {"pods": "5"}}}`, name, namespace)
		}
		of := map[string]thing{}
		rows := map[string]struct{ value, words string }{
			"no-yaml":    {"this is: [nothing", "neither YAML nor JSON"},
			"no-object":  {"just words", "no object"},
			"list":       {"[" + quota(s.ns, "quota") + "]", "no object"},
			"empty":      {"", "no object"},
			"no-kind":    {`{"apiVersion": "v1", "metadata": {"name": "quota"}}`, "lacks apiVersion or kind"},
			"no-version": {`{"kind": "ResourceQuota", "metadata": {"name": "quota"}}`, "lacks apiVersion or kind"},
			"no-name":    {`{"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {}}`, "lacks metadata.name"},
			"two-in-one": {quota(s.unique("two-in-one"), "quota") + "\n---\n" + quota(s.unique("two-in-one"), "other"), "more than one"},
			"elsewhere":  {quota("default", "quota"), "namespace default"}, // C90
		}
		for name, r := range rows {
			ns := newThing(namespaces, "", s.unique(name))
			p := s.everywhere().with("metadata.name", fmt.Sprintf("%.60s", ns.name())).with("spec.resourceSelectors", []any{selector(namespaces, ns.name())}).
				with("spec.policy", map[string]any{"placementType": "PickFixed", "clusterNames": list(members[0])})
			s.Apply(ns, newThing(configMaps, ns.name(), "beside"), enveloped(ns.name(), map[string]any{"a-good-one": quota(ns.name(), "good"), "the-key": r.value}), p)
			of[name] = p
		}
		for name, r := range rows {
			status := s.Says(of[name], append(slices.Clone(carried[:3]), "WorkSynchronized WorkNotSynchronizedYet False")...)
			for _, m := range items(status, "placementStatuses") {
				c := conditionOf(map[string]any{"status": m}, "WorkSynchronized")
				if said := text(c, "message"); text(c, "status") != "False" || text(c, "reason") != "SyncWorkFailed" || !strings.Contains(said, "the-key") || !strings.Contains(said, r.words) || strings.Contains(said, "a-good-one") {
					s.Errorf("%s: %v, want it to name the key, and to say %q", name, c, r.words)
				}
			}
		}
		ns := s.unique("two-in-one")
		s.Apply(enveloped(ns, map[string]any{"the-key": quota(ns, "quota")}))
		s.Says(of["two-in-one"], carried...)
		s.LiveIn(members[0], newThing(sideEffects[3].resource, ns, "quota"))
	})
}
