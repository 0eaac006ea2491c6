// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package schematest

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const oneNamespace = `
resourceSelectors:
- {group: "", version: v1, kind: Namespace, name: shop}
`

func placing(t *testing.T, spec string) string {
	t.Helper()
	return object(t, "placement.kubernetes-fleet.io/v1", "ClusterResourcePlacement", spec, oneNamespace)
}

const (
	pickFixed = `policy: {placementType: PickFixed, clusterNames: [a, b]`
	pickN     = `policy: {placementType: PickN, numberOfClusters: 2`
	spread    = `topologySpreadConstraints: [{topologyKey: env}]`
	required  = `affinity: {clusterAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {clusterSelectorTerms: [{labelSelector: {matchLabels: {env: prod}}}]}}}`
	preferred = `affinity: {clusterAffinity: {preferredDuringSchedulingIgnoredDuringExecution: [{weight: 20, preference: {labelSelector: {matchLabels: {env: prod}}}}]}}`
)

// tolerating is a PickAll policy with tolerations.
func tolerating(tolerations string) string { return `policy: {tolerations: [` + tolerations + `]}` }

var placingRows = map[string]row{
	"C2: a kind alone is accepted":                       {spec: `resourceSelectors: [{group: rbac.authorization.k8s.io, version: v1, kind: ClusterRole}]`},
	"C4: labels are accepted":                            {spec: `resourceSelectors: [{group: "", version: v1, kind: Namespace, labelSelector: {matchLabels: {a: b}}}]`},
	"C6: no selector is rejected":                        {spec: `resourceSelectors: []`, wantField: "spec.resourceSelectors", want: "at least 1"},
	"C6: 100 selectors are accepted":                     {spec: `resourceSelectors: [` + strings.Repeat(`{group: "", version: v1, kind: Namespace},`, 100) + `]`},
	"C6: 101 selectors are rejected":                     {spec: `resourceSelectors: [` + strings.Repeat(`{group: "", version: v1, kind: Namespace},`, 101) + `]`, wantField: "spec.resourceSelectors", want: "at most 100"},
	"C6: a name and labels are rejected":                 {spec: `resourceSelectors: [{group: "", version: v1, kind: Namespace, name: a, labelSelector: {}}]`, wantField: "spec.resourceSelectors[0]", want: "labelSelector and name are mutually exclusive"},
	"C6: a selector has a version":                       {spec: `resourceSelectors: [{group: "", kind: Namespace}]`, wantField: "spec.resourceSelectors[0].version", want: "Required"},
	"C25: a history of 0 is rejected":                    {spec: `revisionHistoryLimit: 0`, wantField: "spec.revisionHistoryLimit", want: "greater than or equal to 1"},
	"C25: a history of 1001 is rejected":                 {spec: `revisionHistoryLimit: 1001`, wantField: "spec.revisionHistoryLimit", want: "less than or equal to 1000"},
	"C42: a skew of 0 is rejected":                       {spec: pickN + `, topologySpreadConstraints: [{topologyKey: env, maxSkew: 0}]}`, wantField: "spec.policy.topologySpreadConstraints[0].maxSkew", want: "greater than or equal to 1"},
	"C55: Equal is accepted":                             {spec: tolerating(`{key: gpu, operator: Equal, value: "yes", effect: NoSchedule}`)},
	"C55: Exists is accepted":                            {spec: tolerating(`{key: gpu, operator: Exists}`)},
	"C55: any effect is accepted":                        {spec: tolerating(`{key: gpu, value: "yes", effect: ""}`)},
	"C55: another effect is rejected":                    {spec: tolerating(`{key: gpu, effect: NoExecute}`), wantField: "spec.policy.tolerations[0].effect", want: "Unsupported value"},
	"C55: another operator is rejected":                  {spec: tolerating(`{key: gpu, operator: Gt}`), wantField: "spec.policy.tolerations[0].operator", want: "Unsupported value"},
	"C55: a key that no taint can have is rejected":      {spec: tolerating(`{key: "-gpu", operator: Exists}`), wantField: "spec.policy.tolerations[0].key", want: "should match"},
	"C56: Exists with a value is rejected":               {spec: tolerating(`{key: gpu, operator: Exists, value: "yes"}`), wantField: "spec.policy.tolerations[0].value", want: "value must be empty when operator is Exists"},
	"C56: no key without Exists is rejected":             {spec: tolerating(`{value: "yes"}`), wantField: "spec.policy.tolerations[0].operator", want: "operator must be Exists when key is empty"},
	"C56: no key with Exists tolerates all":              {spec: tolerating(`{operator: Exists}`)},
	"C58: a toleration may be added":                     {was: tolerating(`{key: a, operator: Exists}`), spec: tolerating(`{key: b, operator: Exists}, {key: a, operator: Exists}`)},
	"C58: a first toleration may be added":               {was: `policy: {}`, spec: tolerating(`{key: b, operator: Exists}`)},
	"C58: a toleration cannot be removed":                {was: tolerating(`{key: a, operator: Exists}`), spec: `policy: {}`, wantField: "spec.policy.tolerations", want: "only additions to tolerations are allowed"},
	"C58: a toleration cannot be changed":                {was: tolerating(`{key: a, value: "1"}`), spec: tolerating(`{key: a, value: "2"}`), wantField: "spec.policy.tolerations", want: "only additions to tolerations are allowed"},
	"C60: two alike are rejected":                        {spec: tolerating(`{key: a, value: "1"}, {key: a, value: "1", operator: Equal}`), wantField: "spec.policy.tolerations", want: "tolerations must be unique"},
	"C93: PickN cannot become PickAll":                   {was: pickN + `}`, spec: `policy: {placementType: PickAll}`, wantField: "spec.policy.placementType", want: "placement type is immutable"},
	"C93: no policy cannot become PickN":                 {was: `revisionHistoryLimit: 1`, spec: pickN + `}`, wantField: "spec.policy", want: "placement type is immutable"},
	"C93: no policy may become PickAll, which it was":    {was: `revisionHistoryLimit: 1`, spec: `policy: {` + required + `}`},
	"C93: PickN may be scaled":                           {was: pickN + `}`, spec: `policy: {placementType: PickN, numberOfClusters: 0}`},
	"C94: a policy cannot be removed":                    {was: pickN + `}`, spec: `revisionHistoryLimit: 1`, wantField: "spec.policy", want: "policy cannot be removed once set"},
	"C94: a PickAll policy cannot be removed either":     {was: `policy: {}`, spec: `revisionHistoryLimit: 1`, wantField: "spec.policy", want: "policy cannot be removed once set"},
	"C96: PickFixed is accepted":                         {spec: pickFixed + `}`},
	"C96: PickFixed without names is rejected":           {spec: `policy: {placementType: PickFixed}`, wantField: "spec.policy.clusterNames", want: "clusterNames cannot be empty"},
	"C96: PickFixed with a number is rejected":           {spec: pickFixed + `, numberOfClusters: 1}`, wantField: "spec.policy.numberOfClusters", want: "must not be set for PickFixed"},
	"C96: PickFixed with affinity is rejected":           {spec: pickFixed + `, ` + required + `}`, wantField: "spec.policy.affinity", want: "must not be set for PickFixed"},
	"C96: PickFixed with spread is rejected":             {spec: pickFixed + `, ` + spread + `}`, wantField: "spec.policy.topologySpreadConstraints", want: "must be empty for PickFixed"},
	"C96: PickFixed with tolerations is rejected":        {spec: pickFixed + `, tolerations: [{operator: Exists}]}`, wantField: "spec.policy.tolerations", want: "must be empty for PickFixed"},
	"C96: one name twice is rejected":                    {spec: `policy: {placementType: PickFixed, clusterNames: [a, a]}`, wantField: "spec.policy.clusterNames", want: "cluster names must be unique"},
	"C96: an empty name is rejected":                     {spec: `policy: {placementType: PickFixed, clusterNames: [""]}`, wantField: "spec.policy.clusterNames[0]", want: "at least 1 chars"},
	"C97: PickAll with required affinity is accepted":    {spec: `policy: {` + required + `}`},
	"C97: PickAll with names is rejected":                {spec: `policy: {clusterNames: [a]}`, wantField: "spec.policy.clusterNames", want: "clusterNames must be empty for PickAll"},
	"C97: PickAll with a number is rejected":             {spec: `policy: {numberOfClusters: 1}`, wantField: "spec.policy.numberOfClusters", want: "must not be set for PickAll"},
	"C97: PickAll with spread is rejected":               {spec: `policy: {` + spread + `}`, wantField: "spec.policy.topologySpreadConstraints", want: "must be empty for PickAll"},
	"C97: PickAll with preferred affinity is rejected":   {spec: `policy: {` + preferred + `}`, wantField: "spec.policy.affinity", want: "must be empty for PickAll"},
	"C98: PickN without a number is rejected":            {spec: `policy: {placementType: PickN}`, wantField: "spec.policy.numberOfClusters", want: "must be set for PickN"},
	"C98: PickN of fewer than none is rejected":          {spec: `policy: {placementType: PickN, numberOfClusters: -1}`, wantField: "spec.policy.numberOfClusters", want: "greater than or equal to 0"},
	"C98: PickN with names is rejected":                  {spec: pickN + `, clusterNames: [a]}`, wantField: "spec.policy.clusterNames", want: "clusterNames must be empty for PickN"},
	"C98: PickN with all the rest is accepted":           {spec: pickN + `, ` + preferred + `, ` + spread + `, tolerations: [{operator: Exists}]}`},
	"C99: a negative period is rejected":                 {spec: `strategy: {rollingUpdate: {unavailablePeriodSeconds: -1}}`, wantField: "spec.strategy.rollingUpdate.unavailablePeriodSeconds", want: "greater than or equal to 0"},
	"C99: a negative percentage is rejected":             {spec: `strategy: {rollingUpdate: {maxSurge: "-1%"}}`, wantField: "spec.strategy.rollingUpdate.maxSurge", want: "should match"},
	"C99: a negative number is rejected":                 {spec: `strategy: {rollingUpdate: {maxUnavailable: -1}}`, wantField: "spec.strategy.rollingUpdate.maxUnavailable", want: "must not be negative"},
	"C99: more than all is rejected":                     {spec: `strategy: {rollingUpdate: {maxUnavailable: "101%"}}`, wantField: "spec.strategy.rollingUpdate.maxUnavailable", want: "should match"},
	"C99: a number and a percentage are accepted":        {spec: `strategy: {rollingUpdate: {maxUnavailable: 1, maxSurge: "50%", unavailablePeriodSeconds: 0}}`},
	"C100: RollingUpdate may become External":            {was: `strategy: {type: RollingUpdate}`, spec: `strategy: {type: External}`},
	"C100: External cannot become RollingUpdate":         {was: `strategy: {type: External}`, spec: `strategy: {type: RollingUpdate}`, wantField: "spec.strategy", want: "cannot be changed once set to 'External'"},
	"C100: External cannot be left out":                  {was: `strategy: {type: External}`, spec: `revisionHistoryLimit: 1`, wantField: "spec.strategy", want: "cannot be changed once set to 'External'"},
	"C101: a config with client-side apply is rejected":  {spec: `strategy: {applyStrategy: {serverSideApplyConfig: {force: true}}}`, wantField: "spec.strategy.applyStrategy.serverSideApplyConfig", want: "only valid for ServerSideApply"},
	"C101: a config with server-side apply is accepted":  {spec: `strategy: {applyStrategy: {type: ServerSideApply, serverSideApplyConfig: {force: true}}}`},
	"a property that is compared with words is rejected": {spec: `policy: {affinity: {clusterAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {clusterSelectorTerms: [{propertySelector: {matchExpressions: [{name: a, operator: Gt, values: [many]}]}}]}}}}`, wantField: "spec.policy.affinity.clusterAffinity.requiredDuringSchedulingIgnoredDuringExecution.clusterSelectorTerms[0].propertySelector.matchExpressions[0].values", want: "must be a quantity"},
	"a property that is sorted by is no requirement":     {spec: `policy: {affinity: {clusterAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {clusterSelectorTerms: [{propertySorter: {name: a, sortOrder: Ascending}}]}}}}`, wantField: "spec.policy.affinity.clusterAffinity.requiredDuringSchedulingIgnoredDuringExecution", want: "propertySorter is not allowed"},
	"a property that is selected by is no preference":    {spec: pickN + `, affinity: {clusterAffinity: {preferredDuringSchedulingIgnoredDuringExecution: [{weight: 1, preference: {propertySelector: {matchExpressions: [{name: a, operator: Gt, values: ["1"]}]}}}]}}}`, wantField: "spec.policy.affinity.clusterAffinity.preferredDuringSchedulingIgnoredDuringExecution[0].preference", want: "propertySelector is not allowed"},
	"what becomes of the objects at the end may be said": {spec: `strategy: {deleteStrategy: {propagationPolicy: Abandon}}`},
	"a field that is not served is rejected":             {spec: `suspension: {}`, wantField: "spec.suspension", want: "unknown field"},
	"C58: no tolerations are as none":                    {was: `policy: {}`, spec: `policy: {tolerations: []}`},
}

func TestPlacements(t *testing.T) {
	s := load(t)
	for name, tc := range placingRows {
		t.Run(name, func(t *testing.T) { tc.check(t, s, placing) })
	}
}

func TestDefaultsOfPlacements(t *testing.T) {
	got, errs := load(t).Create(placing(t, pickN+`, tolerations: [{key: a}], `+spread+`}`))
	if len(errs) > 0 {
		t.Fatal(errs.ToAggregate())
	}
	spec := got["spec"].(map[string]any)
	delete(spec, "resourceSelectors")
	want := map[string]any{
		"revisionHistoryLimit": int64(10), // C25
		"strategy": map[string]any{ // C61, C62
			"type":          "RollingUpdate",
			"rollingUpdate": map[string]any{"maxUnavailable": "25%", "maxSurge": "25%", "unavailablePeriodSeconds": int64(60)},
			"applyStrategy": map[string]any{"type": "ClientSideApply", "comparisonOption": "PartialComparison", "whenToApply": "Always", "whenToTakeOver": "Always"},
		},
		"policy": map[string]any{
			"placementType": "PickN", "numberOfClusters": int64(2),
			"tolerations":               []any{map[string]any{"key": "a", "operator": "Equal"}},                                                 // C55
			"topologySpreadConstraints": []any{map[string]any{"topologyKey": "env", "maxSkew": int64(1), "whenUnsatisfiable": "DoNotSchedule"}}, // C42
		},
	}
	if diff := cmp.Diff(want, spec); diff != "" {
		t.Errorf("defaults (-want +got):\n%s", diff)
	}
	if got, errs = load(t).Create(placing(t, `policy: {}`)); len(errs) > 0 {
		t.Fatal(errs.ToAggregate())
	}
	if diff := cmp.Diff(map[string]any{"placementType": "PickAll"}, got["spec"].(map[string]any)["policy"]); diff != "" {
		t.Errorf("C31: the policy (-want +got):\n%s", diff)
	}
}

func TestNamesOfPlacements(t *testing.T) {
	s := load(t)
	for name, length := range map[string]int{"C95: 63 characters are accepted": 63, "C95: 64 are rejected": 64} {
		t.Run(name, func(t *testing.T) {
			_, errs := s.Create(strings.Replace(placing(t, `revisionHistoryLimit: 1`), "name: one\n", "name: "+strings.Repeat("a", length)+"\n", 1))
			if ok := len(errs) == 0; ok != (length == 63) {
				t.Errorf("accepted %t: %v", ok, errs.ToAggregate())
			}
		})
	}
}

// TestSnapshotsAndBindings are of what Sluice writes itself; the sample of the
// snapshot lacks the number of clusters.
func TestSnapshotsAndBindings(t *testing.T) {
	s := load(t)
	const hash = `policyHash: aGFzaA==`
	for name, tc := range map[string]struct {
		kind string
		row
	}{
		"C26: a policy lacks its number of clusters": {"ClusterSchedulingPolicySnapshot", row{spec: `{policy: {placementType: PickN}, ` + hash + `}`}},
		"C26: its spec is immutable":                 {"ClusterSchedulingPolicySnapshot", row{was: `{policy: {placementType: PickN}, ` + hash + `}`, spec: `{policy: {placementType: PickAll}, ` + hash + `}`, wantField: "spec", want: "spec is immutable"}},
		"C17: objects are kept whole":                {"ClusterResourceSnapshot", row{spec: `selectedResources: [{apiVersion: v1, kind: ConfigMap, metadata: {name: a, namespace: b}, data: {c: d}}]`}},
		"C17: no objects are accepted":               {"ClusterResourceSnapshot", row{spec: `selectedResources: []`}},
		"C52: a binding is accepted":                 {"ClusterResourceBinding", row{spec: `{state: Scheduled, resourceSnapshotName: "", schedulingPolicySnapshotName: one-0, targetCluster: a, clusterDecision: {clusterName: a, selected: true, reason: picked}}`}},
		"C52: another state is rejected":             {"ClusterResourceBinding", row{spec: `{state: Lost, resourceSnapshotName: "", schedulingPolicySnapshotName: one-0, targetCluster: a, clusterDecision: {clusterName: a, selected: true, reason: picked}}`, wantField: "spec.state", want: "Unsupported value"}},
	} {
		t.Run(name, func(t *testing.T) {
			tc.check(t, s, func(t *testing.T, spec string) string {
				return object(t, "placement.kubernetes-fleet.io/v1", tc.kind, spec, "")
			})
		})
	}
}

func TestPlacementOverrides(t *testing.T) {
	s := load(t)
	const select1, select2 = `clusterResourceSelectors: [{group: "", version: v1, kind: Namespace, name: shop}]`, `resourceSelectors: [{group: "", version: v1, kind: ConfigMap, name: a}]`
	patch := func(op string) string {
		return `policy: {overrideRules: [{clusterSelector: {clusterSelectorTerms: []}, jsonPatchOverrides: [` + op + `]}]}`
	}
	rows := map[string]row{
		"a patch is accepted":                             {spec: patch(`{op: add, path: /metadata/labels/a, value: "${MEMBER-CLUSTER-NAME}"}`)},
		"any JSON is accepted":                            {spec: patch(`{op: replace, path: /data, value: {a: [1, null]}}`)},
		"a kind cannot be changed":                        {spec: patch(`{op: replace, path: /kind, value: a}`), wantField: "spec.policy.overrideRules[0].jsonPatchOverrides[0].path", want: "cannot override typeMeta fields"},
		"a status cannot be changed":                      {spec: patch(`{op: add, path: /status/a, value: a}`), wantField: "spec.policy.overrideRules[0].jsonPatchOverrides[0].path", want: "cannot override status fields"},
		"a name cannot be changed":                        {spec: patch(`{op: replace, path: /metadata/name, value: a}`), wantField: "spec.policy.overrideRules[0].jsonPatchOverrides[0].path", want: "cannot override metadata fields"},
		"a path has no empty part":                        {spec: patch(`{op: add, path: /data//a, value: a}`), wantField: "spec.policy.overrideRules[0].jsonPatchOverrides[0].path", want: "empty segments"},
		"a rule needs a patch":                            {spec: `policy: {overrideRules: [{}]}`, wantField: "spec.policy.overrideRules[0].jsonPatchOverrides", want: "cannot be empty"},
		"a rule that deletes has none":                    {spec: `policy: {overrideRules: [{overrideType: Delete, jsonPatchOverrides: [{op: remove, path: /data}]}]}`, wantField: "spec.policy.overrideRules[0].jsonPatchOverrides", want: "cannot be set"},
		"a rule that deletes is accepted":                 {spec: `policy: {overrideRules: [{overrideType: Delete}]}`},
		"members are selected by label only":              {spec: `policy: {overrideRules: [{overrideType: Delete, clusterSelector: {clusterSelectorTerms: [{propertySorter: {name: a, sortOrder: Ascending}}]}}]}`, wantField: "spec.policy.overrideRules[0].clusterSelector", want: "only labelSelector is supported"},
		"the placement is immutable":                      {was: `{placement: {name: a}, policy: {overrideRules: [{overrideType: Delete}]}}`, spec: `{placement: {name: b}, policy: {overrideRules: [{overrideType: Delete}]}}`, wantField: "spec.placement", want: "immutable"},
		"the placement cannot be left out":                {was: `{placement: {name: a}, policy: {overrideRules: [{overrideType: Delete}]}}`, spec: `policy: {overrideRules: [{overrideType: Delete}]}`, wantField: "spec.placement", want: "immutable"},
		"the placement stays while anything else changes": {was: `{placement: {name: a}, policy: {overrideRules: [{overrideType: Delete}]}}`, spec: `{placement: {name: a}, policy: {overrideRules: [{overrideType: Delete}, {overrideType: Delete}]}}`},
	}
	for kind, rest := range map[string]string{"ClusterResourceOverride": select1, "ResourceOverride": select2} {
		for name, tc := range rows {
			t.Run(fmt.Sprintf("%s/%s", kind, name), func(t *testing.T) {
				tc.check(t, s, func(t *testing.T, spec string) string {
					return object(t, "placement.kubernetes-fleet.io/v1", kind, spec, rest)
				})
			})
		}
	}
}

func TestMemberClusters(t *testing.T) {
	s := load(t)
	const me = `identity: {kind: User, apiGroup: rbac.authorization.k8s.io, name: a}`
	for name, tc := range map[string]row{
		"an identity is needed":               {spec: `heartbeatPeriodSeconds: 60`, wantField: "spec.identity", want: "Required"},
		"a taint is accepted":                 {spec: `{` + me + `, taints: [{key: a.b/c, value: d, effect: NoSchedule}]}`},
		"a taint of another effect is not":    {spec: `{` + me + `, taints: [{key: a, effect: NoExecute}]}`, wantField: "spec.taints[0].effect", want: "Unsupported value"},
		"one taint twice is rejected":         {spec: `{` + me + `, taints: [{key: a, effect: NoSchedule}, {key: a, effect: NoSchedule}]}`, wantField: "spec.taints", want: "taints must be unique"},
		"a heart beats within ten minutes":    {spec: `{` + me + `, heartbeatPeriodSeconds: 601}`, wantField: "spec.heartbeatPeriodSeconds", want: "less than or equal to 600"},
		"a heart does not beat without pause": {spec: `{` + me + `, heartbeatPeriodSeconds: 0}`, wantField: "spec.heartbeatPeriodSeconds", want: "greater than or equal to 1"},
	} {
		t.Run(name, func(t *testing.T) {
			tc.check(t, s, func(t *testing.T, spec string) string {
				return strings.Replace(object(t, "cluster.kubernetes-fleet.io/v1", "MemberCluster", spec, ""), "  namespace: shop\n", "", 1)
			})
		})
	}
}
