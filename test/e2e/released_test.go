// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// What clients of the released API look at, beside what the acceptance list has: its
// labels and annotations, statuses summed up as it does, and the words of its events.

const (
	rbID  = "resourcebinding.karmada.io/permanent-id"
	crbID = "clusterresourcebinding.karmada.io/permanent-id"
)

// idLabel is where a template's binding and all that comes of it say which it is.
func (e expectation) idLabel() string {
	if e.clusterScoped {
		return crbID
	}
	return rbID
}

// A binding has a permanent id, and so have its Works and the members' objects. It
// survives whatever happens to the policy and the content, and a binding that somebody
// deletes gets the same again.
func TestReleasedPermanentID(t *testing.T) {
	each(t, gatesOff, everyForm, func(s *scenario) {
		nginx := s.Template("nginx")
		s.Apply(s.Policy("pp").To("member1", "member2"), nginx)
		e := s.Expect(nginx).In("member1", "member2")
		label, id := e.idLabel(), ""
		e.Binding(func(b map[string]any) error {
			if id = (&unstructured.Unstructured{Object: b}).GetLabels()[label]; len(id) != 36 {
				return fmt.Errorf("label %s is %q, want a UUID", label, id)
			}
			return nil
		})
		everywhere := func() {
			s.Helper()
			hasID := func(o map[string]any) error {
				if got := (&unstructured.Unstructured{Object: o}).GetLabels()[label]; got != id {
					return fmt.Errorf("label %s is %q, want %q", label, got, id)
				}
				return nil
			}
			e.Binding(hasID)
			for _, m := range e.where() {
				e.Work(m, hasID).Member(m, hasID)
			}
		}
		everywhere()
		s.Apply(nginx.At(2), s.Policy("pp").To("member1", "member3"))
		e.In("member1", "member3").At(2)
		everywhere()
		r := bindings
		if nginx.clusterScoped {
			r = clusterBindings
		}
		b := e.binding()
		s.Settle()
		before := s.applied(nginx)
		s.Delete(newThing(r, b.GetNamespace(), b.GetName()))
		e.Binding(isCondition("FullyApplied", "True"))
		everywhere()
		s.Settle()
		if after := s.applied(nginx); after != before {
			s.Errorf("members were written because a binding was deleted by hand: %s, before %s", after, before)
		}
	})
}

// What members have says which policy was in force when its content was acted on.
func TestReleasedClaimInMembers(t *testing.T) {
	each(t, gatesOff, everyForm, func(s *scenario) {
		nginx := s.Template("nginx")
		claimedBy := func(p policy) func(obj map[string]any) error {
			want := map[string]string{cppNam: p.name()}
			if !p.clusterScoped {
				want = map[string]string{ppNS: p.namespace(), ppName: p.name()}
			}
			return func(obj map[string]any) error {
				if d := cmp.Diff(want, claim(&unstructured.Unstructured{Object: obj})); d != "" {
					return fmt.Errorf("the claim (-want +got):\n%s", d)
				}
				return nil
			}
		}
		first, second := s.Policy("pp1").Lazy(), s.Policy("pp2").Lazy()
		s.Apply(first, nginx)
		s.Expect(nginx).In("member1").Member("member1", claimedBy(first))
		s.Apply(second)
		s.Delete(first)
		s.Expect(nginx).ClaimedBy(second)
		s.Settle()
		s.Expect(nginx).Member("member1", claimedBy(first))
		s.Touch(nginx)
		s.Expect(nginx).Member("member1", claimedBy(second))
	})
}

// A Service has one node port in all members: the one that the hub gave it, or its
// owner chose.
func TestReleasedOneNodePort(t *testing.T) {
	each(t, gatesOff, inNamespaces, func(s *scenario) {
		web := s.Service("web").set("spec.type", "NodePort").At(80)
		s.Apply(s.Policy("pp").Selecting(web).toAll(), web)
		s.Expect(web).In(members...)
		port := number(items(s.Live(web).Object, "spec.ports")[0], "nodePort")
		if port == 0 {
			s.Fatal("the hub gave the Service no node port")
		}
		for _, m := range members {
			s.Expect(web).Member(m, func(obj map[string]any) error {
				if got := number(items(obj, "spec.ports")[0], "nodePort"); got != port {
					return fmt.Errorf("node port %d, want %d", got, port)
				}
				return nil
			})
		}
	})
}

// The load balancers of all members are listed in the template's status; one that has
// no name has its cluster's.
func TestReleasedLoadBalancers(t *testing.T) {
	t.Parallel()
	for _, k := range []struct {
		resource
		body string
	}{
		{services, "spec: {type: LoadBalancer, ports: [{port: 80}]}"},
		{resource{group: "networking.k8s.io", version: "v1", kind: "Ingress", plural: "ingresses"}, "spec: {defaultBackend: {service: {name: web, port: {number: 80}}}}"},
	} {
		t.Run(k.kind, func(t *testing.T) {
			each(t, gatesOff, inNamespaces, func(s *scenario) {
				x := s.builtin(k.resource, k.body)
				s.Apply(s.Policy("pp").Selecting(x).toAll(), x)
				s.Expect(x).In(members...)
				var want []any
				for i, m := range members {
					ip := fmt.Sprintf("172.19.1.%d", i+6)
					s.patch(s.lab.clusters[m], x, "balancer", `{"status": {"loadBalancer": {"ingress": [{"ip": "`+ip+`"}]}}}`, "status")
					want = append(want, ip+" "+m)
				}
				s.Expect(x).Template(func(obj map[string]any) error {
					var got []any
					for _, a := range items(obj, "status.loadBalancer.ingress") {
						got = append(got, text(a, "ip")+" "+text(a, "hostname"))
					}
					if d := cmp.Diff(want, got); d != "" {
						return errors.New(d)
					}
					return nil
				})
			})
		})
	}
}

// The first group of clusters that can have the template has it: where that is lost, it
// falls back to the next, and returns when the first can have it again. The binding's
// status says which it is.
func TestReleasedAffinities(t *testing.T) {
	each(t, gatesOff, everyForm, func(s *scenario) {
		nginx := s.Template("nginx")
		label := func(member, value string) {
			s.Patch(newThing(clusters, "", member), fmt.Sprintf("{\"metadata\":{\"labels\":{\"%s\":\"%s\"}}}", s.ns, value))
		}
		group := func(name string) any {
			return map[string]any{"affinityName": name, "labelSelector": map[string]any{"matchLabels": map[string]any{s.ns: name}}}
		}
		chosen := func(name string) func(b map[string]any) error {
			return func(b map[string]any) error {
				if got := text(b, "status.schedulerObservingAffinityName"); got != name {
					return fmt.Errorf("chosen by group %q, want %q", got, name)
				}
				return nil
			}
		}
		for _, m := range []string{"member1", "member2"} {
			s.Cleanup(func() { s.unlabel(m) })
		}
		label("member1", "main")
		label("member2", "spare")
		s.Apply(s.Policy("pp").set("spec.placement", map[string]any{"clusterAffinities": []any{group("main"), group("spare")}}), nginx)
		s.Expect(nginx).In("member1").Binding(chosen("main"))
		label("member1", "none")
		s.Expect(nginx).In("member2").Binding(chosen("spare"))
		label("member1", "main")
		s.Expect(nginx).In("member1").Binding(chosen("main"))
	})
}

// Two policies want contrary things of what both their templates refer to: what is not
// the default wins, and an event on its binding tells once.
func TestReleasedDependencyConflict(t *testing.T) {
	each(t, gatesOff, inNamespaces, func(s *scenario) {
		config := s.ConfigMap("config")
		one, two := s.Deployment("one").Using("config"), s.Deployment("two").Using("config")
		first := s.follows("one", one, "member1").Overwriting().set("spec.preserveResourcesOnDeletion", true)
		s.Apply(config, first, s.follows("two", two, "member1"), one, two)
		governed := func(conflict, preserve any) {
			s.Helper()
			s.Expect(config).Binding(func(b map[string]any) error {
				if c, p := at(b, "spec.conflictResolution"), at(b, "spec.preserveResourcesOnDeletion"); c != conflict || p != preserve {
					return fmt.Errorf("conflictResolution %v, preserveResourcesOnDeletion %v", c, p)
				}
				return nil
			})
		}
		s.Expect(config).In("member1")
		governed("Overwrite", true)
		b := s.Expect(config).binding()
		s.Told(newThing(bindings, b.GetNamespace(), b.GetName()), "Warning", "DependencyPolicyConflict",
			"ConflictResolution conflicted (Overwrite vs Abort)", "PreserveResourcesOnDeletion conflicted (true vs false)")
		s.Apply(first.set("spec.preserveResourcesOnDeletion", nil).set("spec.conflictResolution", nil))
		governed("Abort", nil)
	})
}

// Where the template leaves its replicas to its members' autoscalers, by the released
// label, and they are divided, what runs there is brought back to it.
func TestReleasedReplicasComeBack(t *testing.T) {
	each(t, gatesOff, inNamespaces, func(s *scenario) {
		nginx := s.Deployment("nginx").Replicas(2).Label("resourcetemplate.karmada.io/retain-replicas", "true")
		scaler := s.builtin(resource{group: "autoscaling", version: "v2", kind: "HorizontalPodAutoscaler", plural: "horizontalpodautoscalers"}, `
spec:
  scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: nginx}
  minReplicas: 3
  maxReplicas: 4`)
		divided := map[string]any{"replicaSchedulingType": "Divided", "replicaDivisionPreference": "Weighted"}
		s.Apply(s.Policy("pp").Selecting(nginx, scaler).To("member1", "member2").set("spec.placement.replicaScheduling", divided), nginx, scaler)
		s.Expect(nginx).In("member1", "member2").Member("member1", hasReplicas(3)).Member("member2", hasReplicas(3))
		s.Expect(nginx).Template(hasReplicas(6))
		s.Unchanged(func() {})
		s.Expect(nginx).Template(hasReplicas(6)).Member("member1", hasReplicas(3)).Member("member2", hasReplicas(3))
	})
}

// A Cluster lists the kinds that its member serves.
func TestReleasedKindsOfClusters(t *testing.T) {
	once(t, gatesOff, func(s *scenario) {
		listed := func(member string) map[string]bool {
			out := map[string]bool{}
			for _, e := range items(s.Live(newThing(clusters, "", member)).Object, "status.apiEnablements") {
				for _, r := range items(e, "resources") {
					out[text(e, "groupVersion")+" "+text(r, "kind")+" "+text(r, "name")] = true
				}
			}
			return out
		}
		for _, m := range members {
			s.Eventually(func() error {
				have := listed(m)
				for _, want := range []string{"v1 ConfigMap configmaps", "apps/v1 Deployment deployments", "rbac.authorization.k8s.io/v1 ClusterRole clusterroles"} {
					if !have[want] {
						return fmt.Errorf("%s does not list %s among %d kinds", m, want, len(have))
					}
				}
				return isCondition("CompleteAPIEnablements", "True", "FullAPIEnablements")(s.Live(newThing(clusters, "", m)).Object)
			})
		}
	})
}

// Who follows the released reasons of events finds them, each once for each change of
// state; our own reason begins what a Warning says.
func TestReleasedEvents(t *testing.T) {
	each(t, gatesOff, []form{pp}, func(s *scenario) {
		nginx := s.Deployment("nginx")
		s.Apply(s.Policy("pp").To("no-such-cluster"), nginx)
		b := newThing(bindings, s.ns, "nginx-deployment")
		s.Told(b, "Warning", "ScheduleBindingFailed", "NoClusterFit: ", "no-such-cluster")
		s.Touch(nginx)
		s.Settle()
		for _, e := range s.events(b) {
			if n := number(e, "count"); text(e, "reason") == "ScheduleBindingFailed" && n > 1 {
				s.Errorf("it was told %d times that the binding cannot be scheduled", n)
			}
		}
		over := s.plain("over", nginx, "replace", "/spec/no/such", "", "member1")
		s.Apply(over, s.Policy("pp").To("member1"))
		s.Told(nginx, "Warning", "ApplyOverridePolicyFailed", "OverrideFailed: ", "over")
		s.Delete(over)
		s.Expect(nginx).In("member1")
	})
}

// mentionable waits until what went well can be mentioned again: twenty are at once and
// five a second, which the end of tests before this may have used up.
func (s *scenario) mentionable() {
	s.Helper()
	if err := s.within(3*timeout, theLab.leftover); err != nil {
		s.Fatal("what tests before this left does not go:", err)
	}
	pause(s.Context(), 4*time.Second)
}

// What went well is mentioned under its released reason, too, while little is done
// (docs/decisions/0042): so nothing else runs beside this.
func TestReleasedEventsOfSuccess(t *testing.T) {
	alone(t, gatesOff, []form{pp}, func(s *scenario) {
		s.mentionable()
		config, nginx := s.ConfigMap("config"), s.Deployment("nginx").Using("config")
		over := s.plain("over", nginx, "replace", "/spec/no/such", "", "member1")
		s.Apply(over, s.Policy("pp").Selecting(nginx).WithDependencies().To("member1"), config, nginx)
		s.Told(nginx, "Warning", "ApplyOverridePolicyFailed", "OverrideFailed: ", "over")
		s.Delete(over)
		s.Expect(nginx).In("member1")
		b := newThing(bindings, s.ns, "nginx-deployment")
		s.Told(nginx, "Normal", "ApplyPolicySucceed", s.ns+"/pp")
		s.Told(b, "Normal", "ScheduleBindingSucceed")
		s.Told(nginx, "Normal", "ApplyOverridePolicySucceed")
		s.Told(b, "Normal", "SyncWorkSucceed", s.ns)
		s.Told(nginx, "Normal", "GetDependenciesSucceed")
		s.Told(b, "Normal", "AggregateStatusSucceed", s.ns)
	})
}

// So does who looks at a Work that its member refuses, and then takes.
func TestReleasedEventsOfWorks(t *testing.T) {
	alone(t, gatesOff, []form{pp}, func(s *scenario) {
		s.mentionable()
		rule := s.refuse("member2", "member2 wants no such thing")
		s.refusing("member2")
		config := s.ConfigMap("config").Label("bad", "true")
		s.Apply(s.Policy("pp").Selecting(config).To("member2"), config)
		s.Expect(config).Work("member2", isCondition("Applied", "False", "member2 wants no such thing"))
		w := s.Expect(config).work("member2")
		s.Told(newThing(works, w.GetNamespace(), w.GetName()), "Warning", "SyncFailed", "RefusedByMember: ", "member2 wants no such thing")
		s.forget("member2", rule)
		s.Expect(config).In("member2")
		s.Told(newThing(works, w.GetNamespace(), w.GetName()), "Normal", "SyncSucceed", "the member has what the Work says")
	})
}
