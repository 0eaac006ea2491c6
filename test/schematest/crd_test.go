// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package schematest

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
)

// categories are those of each group's kinds.
var categories = map[string][]string{
	"policy.karmada.io":             {"karmada-io", "sluice"},
	"work.karmada.io":               {"karmada-io", "sluice"},
	"cluster.karmada.io":            {"karmada-io", "sluice"},
	"placement.kubernetes-fleet.io": {"fleet", "fleet-placement", "sluice"},
	"cluster.kubernetes-fleet.io":   {"fleet", "fleet-cluster", "sluice"},
	"config.sluice.dev":             {"sluice"},
}

func TestKindsAreServedAsReleased(t *testing.T) {
	type served struct {
		Version   string
		Scope     apiextensionsv1.ResourceScope
		Kind      string
		ShortName string
		Status    bool
	}
	want := map[string]served{
		"propagationpolicies.policy.karmada.io":        {"v1alpha1", "Namespaced", "PropagationPolicy", "pp", true},
		"clusterpropagationpolicies.policy.karmada.io": {"v1alpha1", "Cluster", "ClusterPropagationPolicy", "cpp", true},
		"overridepolicies.policy.karmada.io":           {"v1alpha1", "Namespaced", "OverridePolicy", "op", false},
		"clusteroverridepolicies.policy.karmada.io":    {"v1alpha1", "Cluster", "ClusterOverridePolicy", "cop", false},
		"resourcebindings.work.karmada.io":             {"v1alpha2", "Namespaced", "ResourceBinding", "rb", true},
		"clusterresourcebindings.work.karmada.io":      {"v1alpha2", "Cluster", "ClusterResourceBinding", "crb", true},
		"works.work.karmada.io":                        {"v1alpha1", "Namespaced", "Work", "wk", true},
		"clusters.cluster.karmada.io":                  {"v1alpha1", "Cluster", "Cluster", "", true},

		"memberclusters.cluster.kubernetes-fleet.io":                              {"v1", "Cluster", "MemberCluster", "mcl", true},
		"clusterresourceplacements.placement.kubernetes-fleet.io":                 {"v1", "Cluster", "ClusterResourcePlacement", "crp", true},
		"clusterschedulingpolicysnapshots.placement.kubernetes-fleet.io":          {"v1", "Cluster", "ClusterSchedulingPolicySnapshot", "csps", true},
		"clusterresourcesnapshots.placement.kubernetes-fleet.io":                  {"v1", "Cluster", "ClusterResourceSnapshot", "crs", true},
		"clusterresourcebindings.placement.kubernetes-fleet.io":                   {"v1", "Cluster", "ClusterResourceBinding", "", true},
		"clusterresourceoverrides.placement.kubernetes-fleet.io":                  {"v1", "Cluster", "ClusterResourceOverride", "", false},
		"clusterresourceoverridesnapshots.placement.kubernetes-fleet.io":          {"v1", "Cluster", "ClusterResourceOverrideSnapshot", "", false},
		"resourceoverrides.placement.kubernetes-fleet.io":                         {"v1", "Namespaced", "ResourceOverride", "", false},
		"resourceoverridesnapshots.placement.kubernetes-fleet.io":                 {"v1", "Namespaced", "ResourceOverrideSnapshot", "", false},
		"clusterstagedupdateruns.placement.kubernetes-fleet.io":                   {"v1", "Cluster", "ClusterStagedUpdateRun", "csur", true},
		"clusterstagedupdatestrategies.placement.kubernetes-fleet.io":             {"v1", "Cluster", "ClusterStagedUpdateStrategy", "csus", false},
		"clusterresourceplacementevictions.placement.kubernetes-fleet.io":         {"v1", "Cluster", "ClusterResourcePlacementEviction", "crpe", true},
		"clusterresourceplacementdisruptionbudgets.placement.kubernetes-fleet.io": {"v1", "Cluster", "ClusterResourcePlacementDisruptionBudget", "crpdb", false},
		"clusterapprovalrequests.placement.kubernetes-fleet.io":                   {"v1", "Cluster", "ClusterApprovalRequest", "careq", true},
		"works.placement.kubernetes-fleet.io":                                     {"v1", "Namespaced", "Work", "", true},

		"resourceinterpreters.config.sluice.dev": {"v1alpha1", "Cluster", "ResourceInterpreter", "ri", true},
	}
	got := map[string]served{}
	for _, crd := range load(t).CRDs() {
		if len(crd.Spec.Versions) != 1 {
			t.Errorf("%s has %d versions, want 1", crd.Name, len(crd.Spec.Versions))
		}
		v := crd.Spec.Versions[0]
		s := served{Version: v.Name, Scope: crd.Spec.Scope, Kind: crd.Spec.Names.Kind}
		if len(crd.Spec.Names.ShortNames) > 0 {
			s.ShortName = crd.Spec.Names.ShortNames[0]
		}
		s.Status = v.Subresources != nil && v.Subresources.Status != nil
		got[crd.Name] = s
		if diff := cmp.Diff(categories[crd.Spec.Group], crd.Spec.Names.Categories); diff != "" {
			t.Errorf("categories of %s (-want +got):\n%s", crd.Name, diff)
		}
		if !v.Served || !v.Storage {
			t.Errorf("%s is not served and stored", crd.Name)
		}
		// Without any column, the age is shown.
		age := len(v.AdditionalPrinterColumns) == 0
		for _, column := range v.AdditionalPrinterColumns {
			age = age || strings.EqualFold(column.Name, "AGE")
		}
		if !age {
			t.Errorf("%s has no column AGE", crd.Name)
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("served (-want +got):\n%s", diff)
	}
}

func TestEachFieldIsDescribed(t *testing.T) {
	for _, crd := range load(t).CRDs() {
		describe(t, crd.Spec.Names.Kind, crd.Spec.Versions[0].Schema.OpenAPIV3Schema)
	}
}

func describe(t *testing.T, path string, s *apiextensionsv1.JSONSchemaProps) {
	t.Helper()
	for name := range s.Properties {
		field := s.Properties[name]
		if field.Description == "" && name != "metadata" {
			t.Errorf("%s.%s has no description", path, name)
		}
		describe(t, path+"."+name, &field)
	}
	if s.Items != nil && s.Items.Schema != nil {
		describe(t, path+"[]", s.Items.Schema)
	}
}
