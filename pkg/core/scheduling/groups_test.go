// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package scheduling

import (
	"math/bits"
	"path"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	clusterv1alpha1 "sluice.dev/apis/cluster/v1alpha1"
	policyv1alpha1 "sluice.dev/apis/policy/v1alpha1"
	workv1alpha2 "sluice.dev/apis/work/v1alpha2"
	"sluice.dev/pkg/core/propagation"
	"sluice.dev/pkg/core/scheduling/filters"
)

// inRegions are clusters "a", "b", … of these regions; "-" is none.
func inRegions(regions ...string) []*clusterv1alpha1.Cluster {
	var out []*clusterv1alpha1.Cluster
	for i, region := range regions {
		c := cluster(string(rune('a' + i)))
		c.Spec.Region = strings.TrimPrefix(region, "-")
		out = append(out, c)
	}
	return out
}

func by(field policyv1alpha1.SpreadFieldValue, least, most int) policyv1alpha1.SpreadConstraint {
	return policyv1alpha1.SpreadConstraint{SpreadByField: field, MinGroups: least, MaxGroups: most}
}

// spreading is a binding whose placement has the constraints, and came into force since
// Sluice acts on them.
func spreading(held string, constraints ...policyv1alpha1.SpreadConstraint) *propagation.Binding {
	b := &propagation.Binding{
		Annotations: map[string]string{propagation.AnnotationSpreadsByGroup: "true"},
		Spec:        workv1alpha2.ResourceBindingSpec{Placement: &policyv1alpha1.Placement{SpreadConstraints: constraints}},
	}
	for _, name := range strings.Fields(held) {
		b.Spec.Clusters = append(b.Spec.Clusters, on(name, 0))
	}
	return b
}

func namesOf(list targets) string {
	var out []string
	for _, t := range list {
		out = append(out, t.Name)
	}
	return strings.Join(out, " ")
}

func TestDecideSpreadsByGroup(t *testing.T) {
	const region, byCluster = policyv1alpha1.SpreadByFieldRegion, policyv1alpha1.SpreadByFieldCluster
	eight := inRegions("eu", "eu", "eu", "us", "us", "asia", "-")
	for name, tc := range map[string]struct {
		binding  *propagation.Binding
		clusters []*clusterv1alpha1.Cluster
		want     string
		message  string // empty: success
	}{
		"all clusters of at most so many regions": {
			binding: spreading("", by(region, 1, 2), by(byCluster, 1, 0)), clusters: eight, want: "a b c d e",
		},
		"a cluster without a region is in none": {
			binding: spreading("", by(region, 1, 0), by(byCluster, 1, 0)), clusters: eight, want: "a b c d e f",
		},
		"at least so many regions among few clusters": {
			binding: spreading("", by(region, 3, 0), by(byCluster, 1, 3)), clusters: eight, want: "a d f",
		},
		"as many regions as are wanted, and then those that come first": {
			binding: spreading("", by(region, 2, 0), by(byCluster, 1, 3)), clusters: eight, want: "a b d",
		},
		"who has it keeps it where the constraints allow": {
			binding: spreading("e f", by(region, 2, 2), by(byCluster, 1, 2)), clusters: eight, want: "e f",
		},
		"the region that has most of it goes before the others": {
			binding: spreading("a d e", by(region, 1, 1), by(byCluster, 1, 0)), clusters: eight, want: "d e",
		},
		"a region that is too small is passed over": {
			binding: spreading("", by(region, 1, 1), by(byCluster, 2, 2)), clusters: inRegions("asia", "eu", "eu"), want: "b c",
		},
		"but not where the others make up for it": {
			binding: spreading("", by(region, 2, 2), by(byCluster, 3, 0)), clusters: inRegions("asia", "us", "eu", "eu"), want: "a c d",
		},
		"too few regions": {
			binding: spreading("a", by(region, 4, 0), by(byCluster, 1, 0)), clusters: eight, want: "a",
			message: "6/7 clusters are available, the spread constraint by region wants at least 4 groups and finds 3: g has no region",
		},
		"more regions than clusters": {
			binding: spreading("a", by(region, 3, 0), by(byCluster, 1, 2)), clusters: eight, want: "a",
			message: "6/7 clusters are available, the spread constraint by region wants at least 3 groups, of at most 2 clusters: g has no region",
		},
		"no region is large enough": {
			binding: spreading("", by(region, 1, 1), by(byCluster, 4, 0)), clusters: eight,
			message: "6/7 clusters are available, no 1 groups by region have the 4 clusters that the spread constraint wants: g has no region",
		},
		"what came into force before Sluice acted on regions is left alone": {
			binding: func() *propagation.Binding {
				b := spreading("a d", by(region, 1, 1), by(byCluster, 1, 0))
				b.Annotations = nil
				return b
			}(), clusters: eight, want: "a b c d e f g",
		},
		"by the values of a label": {
			binding:  spreading("", policyv1alpha1.SpreadConstraint{SpreadByLabel: "rack", MaxGroups: 1}),
			clusters: clustersOf(inRack, "1", "2", "1"), want: "a c",
		},
		"by providers and regions": {
			binding:  spreading("", by(region, 2, 0), by(policyv1alpha1.SpreadByFieldProvider, 1, 1), by(byCluster, 1, 2)),
			clusters: clustersOf(atProvider, "x/eu", "y/eu", "x/eu", "x/us"), want: "a d",
		},
		"a cluster in several zones is in the group of all of them": {
			binding:  spreading("", by(policyv1alpha1.SpreadByFieldZone, 1, 1), by(byCluster, 1, 0)),
			clusters: clustersOf(inZones, "1,2", "1", "1,2"), want: "a c",
		},
	} {
		t.Run(name, func(t *testing.T) {
			d := Decide(Input{Binding: tc.binding, Clusters: tc.clusters})
			if got := namesOf(d.Targets); got != tc.want || d.Unschedulable != (tc.message != "") {
				t.Errorf("it goes to %q, want %q: %s", got, tc.want, d.Condition.Message)
			}
			if want := tc.message; want != "" && d.Condition.Message != want {
				t.Errorf("it says %q, want %q", d.Condition.Message, want)
			}
		})
	}
}

// clustersOf are clusters "a", "b", …, each with what set makes of its value.
func clustersOf(set func(c *clusterv1alpha1.Cluster, value string), values ...string) []*clusterv1alpha1.Cluster {
	out := inRegions(make([]string, len(values))...)
	for i, c := range out {
		set(c, values[i])
	}
	return out
}

func inRack(c *clusterv1alpha1.Cluster, rack string) { c.Labels = map[string]string{"rack": rack} }

// atProvider takes "provider/region".
func atProvider(c *clusterv1alpha1.Cluster, at string) {
	c.Spec.Provider, c.Spec.Region = path.Dir(at), path.Base(at)
}

// inZones takes zones between commas.
func inZones(c *clusterv1alpha1.Cluster, zones string) { c.Spec.Zones = strings.Split(zones, ",") }

// anySpread draws a fleet in regions, and a binding with a constraint by region and one
// by cluster.
func anySpread(t *rapid.T) Input {
	regions := rapid.SliceOfN(rapid.SampledFrom([]string{"eu", "us", "asia", "-"}), 0, 7).Draw(t, "regions")
	bounds := func(name string) (least, most int) {
		least, most = rapid.IntRange(0, 3).Draw(t, name+" at least"), rapid.IntRange(0, 4).Draw(t, name+" at most")
		if most > 0 {
			most = max(most, least)
		}
		return least, most
	}
	r1, r2 := bounds("regions")
	c1, c2 := bounds("clusters")
	held := rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"a", "b", "c", "d", "e", "f", "g"}), 0, 4, rapid.ID).Draw(t, "held")
	return Input{
		Binding:  spreading(strings.Join(held, " "), by(policyv1alpha1.SpreadByFieldRegion, r1, r2), by(policyv1alpha1.SpreadByFieldCluster, c1, c2)),
		Clusters: inRegions(regions...),
	}
}

// satisfied tells whether the clusters satisfy the binding's constraints.
func satisfied(b *propagation.Binding, chosen []*clusterv1alpha1.Cluster) bool {
	for _, c := range b.Spec.Placement.SpreadConstraints {
		seen := map[string]bool{}
		for _, o := range chosen {
			seen[filters.GroupOf(c, o)] = true
		}
		if seen[""] || len(seen) < max(1, c.MinGroups) || c.MaxGroups > 0 && len(seen) > c.MaxGroups {
			return false
		}
	}
	return true
}

// TestSpreadByGroup: what is chosen satisfies the constraints; what is refused nobody
// could satisfy; decided again it is the same.
func TestSpreadByGroup(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		in := anySpread(t)
		d := Decide(in)
		if d.Unschedulable {
			for set := range uint(1) << len(in.Clusters) {
				var chosen []*clusterv1alpha1.Cluster
				for rest := set; rest != 0; rest &= rest - 1 {
					chosen = append(chosen, in.Clusters[bits.TrailingZeros(rest)])
				}
				if satisfied(in.Binding, chosen) {
					t.Fatalf("refused (%s), though %d clusters satisfy it, %v", d.Condition.Message, len(chosen), chosen[0].Name)
				}
			}
			return
		}
		var chosen []*clusterv1alpha1.Cluster
		for _, c := range in.Clusters {
			if strings.Contains(" "+namesOf(d.Targets)+" ", " "+c.Name+" ") {
				chosen = append(chosen, c)
			}
		}
		if !satisfied(in.Binding, chosen) {
			t.Fatalf("%q does not satisfy the constraints", namesOf(d.Targets))
		}
		in.Binding.Spec.Clusters = d.Targets
		if diff := cmp.Diff(d, Decide(in)); diff != "" {
			t.Fatalf("deciding again:\n%s", diff)
		}
		in.Clusters = append(inRegions("eu", "us", "asia", "-")[:1], in.Clusters...)
		in.Clusters[0].Name = "0-joins"
		for _, target := range d.Targets {
			if !strings.Contains(" "+namesOf(Decide(in).Targets)+" ", " "+target.Name+" ") {
				t.Fatalf("a cluster joined, and %s lost it", target.Name)
			}
		}
	})
}
