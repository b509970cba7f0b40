// Package proto_test keeps what follows from the .proto files in step with them.
package proto_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"regexp"
	"slices"
	"testing"

	"github.com/bufbuild/protocompile"
	"github.com/bufbuild/protocompile/protoutil"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/pluginpb"
)

// TestGeneratedGo fails when gen/go is not what the plugins make of the .proto
// files. It compiles them itself because building buf takes minutes.
func TestGeneratedGo(t *testing.T) {
	want := map[string]string{}
	request := codeGeneratorRequest(t)
	for _, plugin := range []string{"protoc-gen-go", "protoc-gen-go-grpc"} { // as in buf.gen.yaml
		for _, file := range runPlugin(t, plugin, request).File {
			want[file.GetName()] = file.GetContent()
		}
	}
	have := readTree(t, "../gen/go")
	for name, content := range have {
		if _, ok := want[name]; !ok {
			t.Errorf("gen/go/%s is left over: run make gen", name)
		} else if content != want[name] {
			t.Errorf("gen/go/%s is stale: run make gen", name)
		}
	}
	for name := range want {
		if _, ok := have[name]; !ok {
			t.Errorf("gen/go/%s is missing: run make gen", name)
		}
	}
}

// codeGeneratorRequest compiles every .proto file into what plugins read.
func codeGeneratorRequest(t *testing.T) *pluginpb.CodeGeneratorRequest {
	sources := readTree(t, ".")
	request := &pluginpb.CodeGeneratorRequest{Parameter: proto.String("paths=source_relative")} // as in buf.gen.yaml
	for name := range sources {
		if path.Ext(name) == ".proto" {
			request.FileToGenerate = append(request.FileToGenerate, name)
		}
	}
	slices.Sort(request.FileToGenerate)
	compiler := protocompile.Compiler{
		Resolver: protocompile.WithStandardImports(&protocompile.SourceResolver{
			Accessor: protocompile.SourceAccessorFromMap(sources),
		}),
		SourceInfoMode: protocompile.SourceInfoStandard, // comments go into the generated code
	}
	files, err := compiler.Compile(t.Context(), request.FileToGenerate...)
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	var add func(protoreflect.FileDescriptor)
	add = func(file protoreflect.FileDescriptor) { // plugins want imports before their importers
		if seen[file.Path()] {
			return
		}
		seen[file.Path()] = true
		for i := range file.Imports().Len() {
			add(file.Imports().Get(i))
		}
		request.ProtoFile = append(request.ProtoFile, protoutil.ProtoFromFileDescriptor(file))
	}
	for _, file := range files {
		add(file)
	}
	return request
}

// runPlugin runs a generator in the version that go.mod pins.
func runPlugin(t *testing.T, plugin string, request *pluginpb.CodeGeneratorRequest) *pluginpb.CodeGeneratorResponse {
	in, err := proto.Marshal(request)
	if err != nil {
		t.Fatal(err)
	}
	_, _ = os.Stat("../go.mod") // go test must not take its cached result for another version's
	cmd := exec.CommandContext(t.Context(), "go", "tool", plugin)
	cmd.Stdin, cmd.Stderr = bytes.NewReader(in), os.Stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s: %v", plugin, err)
	}
	response := new(pluginpb.CodeGeneratorResponse)
	if err := proto.Unmarshal(out, response); err != nil || response.Error != nil {
		t.Fatalf("%s: %v %s", plugin, err, response.GetError())
	}
	return response
}

// readTree reads every file below dir.
func readTree(t *testing.T, dir string) map[string]string {
	files, tree := map[string]string{}, os.DirFS(dir)
	err := fs.WalkDir(tree, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		content, err := fs.ReadFile(tree, name)
		files[name] = string(content)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// TestKeyVectors checks the keys that the comment of key_parts promises to every
// client language.
func TestKeyVectors(t *testing.T) {
	source := readTree(t, ".")["onceward/v1/claim.proto"]
	vectors := regexp.MustCompile(`// (\[".*"\])\n *// ([0-9a-f]{64})\n`).FindAllStringSubmatch(source, -1)
	if len(vectors) != 5 {
		t.Fatalf("the comment has %d vectors, want 5", len(vectors))
	}
	for _, vector := range vectors {
		var parts []string
		if err := json.Unmarshal([]byte(vector[1]), &parts); err != nil {
			t.Fatalf("%s: %v", vector[1], err)
		}
		var data []byte
		for _, part := range parts {
			data = binary.BigEndian.AppendUint32(data, uint32(len(part)))
			data = append(data, part...)
		}
		sum := sha256.Sum256(data)
		if got := hex.EncodeToString(sum[:]); got != vector[2] {
			t.Errorf("%s gives %s, the comment says %s", vector[1], got, vector[2])
		}
	}
}
