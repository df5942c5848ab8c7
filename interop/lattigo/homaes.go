// Package homaes moves bytes from homaes to slots of Lattigo. It makes the evaluation key from the link key of homaes
// to your secret key and runs the first part of Lattigo's bootstrapping, which leaves one byte in each slot.
package homaes

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math/bits"
	"os"
	"slices"

	"github.com/tuneinsight/lattigo/v6/circuits/ckks/bootstrapping"
	"github.com/tuneinsight/lattigo/v6/core/rlwe"
	"github.com/tuneinsight/lattigo/v6/ring"
)

// Link is a link key: the binary secret under which homaes encrypts the bytes. It opens every file that names its ID.
type Link struct {
	ID        string // 32 hex digits
	Dimension int    // number of bits
	bits      []byte
}

// File is a file of 'homaes export --to lattigo'. Ciphertext i holds bytes i*N to (i+1)*N - 1 of the message, at level
// 0, in coefficient form, under the link key. After the message's last AES block, of which the rest is arbitrary, it is 0.
type File struct {
	Set          string             // homaes parameter set
	Link         string             // ID of the link key
	Dimension    int                // of the link key
	Modulus      uint64             // first prime of the bootstrapping parameters
	LogN         int                `json:"log_n"`         // log2 of the ring degree N
	MessageRatio int                `json:"message_ratio"` // LogMessageRatio of the bootstrapping parameters
	LogT         int                `json:"log2_t"`        // byte b has phase Modulus * (b - 128) / 2^LogT
	Bytes        int                // length of the message
	Count        int                `json:"ciphertexts"`
	Ciphertexts  []*rlwe.Ciphertext `json:"-"`
}

// ReadLink reads a link key.
func ReadLink(path string) (*Link, error) {
	var f struct {
		ID, Bits, SHA256 string
		Dimension        int
	}
	data, err := readHeader(path, `{"homaes":"link key",`, &f)
	defer clear(data)
	if err != nil {
		return nil, err
	}
	raw, err := hex.DecodeString(f.ID + f.Bits)
	if sum := sha256.Sum256(raw); err != nil || hex.EncodeToString(sum[:]) != f.SHA256 || len(f.ID) != 32 || len(raw) < 16 {
		return nil, fmt.Errorf("%s: damaged: SHA-256 is %.4x, expected %.8s; copy it again", path, sum, f.SHA256)
	}
	n, excess := f.Dimension, -f.Dimension/2 // of set bits over one half
	for _, b := range raw[16:] {
		excess += bits.OnesCount8(b)
	}
	if n < 256 || n > 1<<16 || n&(n-1) != 0 || len(f.Bits)*4 != n || excess*excess > 25*n { // ten standard deviations
		return nil, fmt.Errorf("%s: insecure: %d of %d bits are set, expected half; make a new key", path, excess+n/2, n)
	}
	return &Link{ID: f.ID, Dimension: n, bits: raw[16:]}, nil
}

// Key is the evaluation key from a link key to your secret key. Both fields go to the server.
type Key struct {
	Link string // ID of the link key
	*rlwe.EvaluationKey
}

// Key makes the evaluation key from the link key to sk, the secret key that params.GenEvaluationKeys returns (not the
// residual one if the two rings differ).
func (l *Link) Key(params bootstrapping.Parameters, sk *rlwe.SecretKey) (*Key, error) {
	p, level := params.BootstrappingParameters, 0
	if len(l.bits) == 0 || p.N() < l.Dimension || sk == nil || sk.Value.Q.N() != p.N() {
		return nil, fmt.Errorf("homaes: secret key not of ring degree %d >= %d; use GenEvaluationKeys'", p.N(), l.Dimension)
	}
	z := rlwe.NewSecretKey(p) // only modulo the first prime
	for i := 0; i < l.Dimension; i++ {
		z.Value.Q.Coeffs[0][i*(p.N()/l.Dimension)] = uint64(l.bits[i/8]>>(i%8)) & 1
	}
	p.RingQ().AtLevel(0).NTT(z.Value.Q, z.Value.Q)
	p.RingQ().AtLevel(0).MForm(z.Value.Q, z.Value.Q)
	gen := rlwe.NewKeyGenerator(p)
	key := gen.GenEvaluationKeyNew(z, sk, rlwe.EvaluationKeyParameters{LevelQ: &level})
	z.Value.Q.Zero()
	gen.GenEvaluationKeyNew(z, sk, rlwe.EvaluationKeyParameters{LevelQ: &level}) // overwrites the generator's copy
	return &Key{l.ID, key}, nil
}

// Read reads a file and checks all of it.
func Read(path string) (*File, error) {
	f := &File{}
	data, err := readHeader(path, `{"homaes":"lattigo",`, f)
	if err != nil {
		return nil, err
	}
	end := max(0, len(data)-sha256.Size)
	if sum := sha256.Sum256(data[:end]); !bytes.Equal(sum[:], data[end:]) {
		return nil, fmt.Errorf("%s: damaged or cut: SHA-256 is %.4x, expected %.4x; copy it again", path, sum, data[end:])
	}
	if min(f.LogN-8, 17-f.LogN, f.MessageRatio, 16-f.MessageRatio, f.LogT-9, 20-f.LogT) < 0 || f.Modulus>>61 != 0 {
		return nil, fmt.Errorf("%s: header out of range: %+v; export it again", path, *f)
	}
	n := 1 << f.LogN
	zero, _ := rlwe.NewCiphertextAtLevelFromPoly(0, []ring.Poly{ring.NewPoly(n, 0), ring.NewPoly(n, 0)})
	zero.Scale = rlwe.NewScale(f.Modulus).Div(rlwe.NewScale(1 << f.MessageRatio))
	zero.IsBatched, zero.LogDimensions.Cols = true, f.LogN-1
	expected, _ := zero.MarshalBinary()
	body, size := data[bytes.IndexByte(data, '\n')+1:end], len(expected)
	if f.Count != len(body)/size || len(body)%size != 0 || f.Bytes < 0 || f.Bytes > f.Count*n || f.Bytes <= f.Count*n-n {
		return nil, fmt.Errorf("%s: %d bytes for %d, expected %d per %d; export it again", path, len(body), f.Bytes, size, n)
	}
	for ; len(body) > 0; body = body[size:] {
		ct, frame := new(rlwe.Ciphertext), bytes.Clone(body[:size])
		clear(frame[size-8*n:])
		clear(frame[size-16*n-16 : size-8*n-16])
		if !bytes.Equal(frame, expected) || ct.UnmarshalBinary(body[:size]) != nil ||
			max(slices.Max(ct.Value[0].Coeffs[0]), slices.Max(ct.Value[1].Coeffs[0])) >= f.Modulus {
			return nil, fmt.Errorf("%s: ciphertext %d is not in Lattigo's form; export it again", path, len(f.Ciphertexts))
		}
		f.Ciphertexts = append(f.Ciphertexts, ct)
	}
	return f, nil
}

// ExportOptions returns the options of 'homaes export' for these parameters.
func ExportOptions(params bootstrapping.Parameters) string {
	p, r := params.BootstrappingParameters, params.Mod1ParametersLiteral.LogMessageRatio
	return fmt.Sprintf("--modulus %d --log-n %d --message-ratio %d", p.Q()[0], p.LogN(), r)
}

// HalfBoot brings ciphertext i to slots: a bootstrapping without SlotsToCoeffs. Slot s of even holds byte 2s, of odd byte
// 2s + 1, as 0 to 255; with N16QP1547H192H32 at level 8 and scale 2^49. An evaluator serves one call at a time.
func HalfBoot(eval *bootstrapping.Evaluator, key *Key, file *File, i int) (
	even, odd *rlwe.Ciphertext, err error) {
	params, mod1, level := eval.BootstrappingParameters, eval.Mod1Parameters, 0
	size := rlwe.NewEvaluationKey(params, rlwe.EvaluationKeyParameters{LevelQ: &level}).BinarySize()
	switch slots := eval.CoeffsToSlotsParameters.LogSlots; {
	case file.Modulus != params.Q()[0] || file.LogN != params.LogN() || file.MessageRatio != mod1.LogMessageRatio:
		err = fmt.Errorf("homaes: file for modulus %d, log_n %d, message ratio %d; run 'homaes export' with %s",
			file.Modulus, file.LogN, file.MessageRatio, ExportOptions(eval.Parameters))
	case i < 0 || i >= len(file.Ciphertexts):
		err = fmt.Errorf("homaes: no ciphertext %d in a file of %d; count from 0", i, len(file.Ciphertexts))
	case slots != file.LogN-1 || eval.CircuitOrder != bootstrapping.ModUpThenEncode:
		err = fmt.Errorf("homaes: evaluator for 2^%d slots, expected 2^%d; set LogSlots to LogN - 1", slots, file.LogN-1)
	case eval.Mod1ParametersLiteral.Mod1InvDegree < 7:
		err = fmt.Errorf("homaes: Mod1InvDegree is %d, expected at least 7", eval.Mod1ParametersLiteral.Mod1InvDegree)
	case key == nil || key.Link != file.Link:
		err = fmt.Errorf("homaes: file for link key %s; pass the key that its link key made", file.Link)
	case key.EvaluationKey == nil || key.BinarySize() != size:
		err = fmt.Errorf("homaes: not an evaluation key of %d bytes for these parameters; make it with Link.Key", size)
	}
	if err != nil {
		return nil, nil, err
	}
	ct, moved := file.Ciphertexts[i].CopyNew(), rlwe.NewCiphertext(params, 1, 0)
	for _, c := range ct.Value {
		params.RingQ().AtLevel(0).NTT(c, c)
	}
	ct.IsNTT = true
	if err = eval.Evaluator.ApplyEvaluationKey(ct, key.EvaluationKey, moved); err == nil {
		if moved, err = eval.ModUp(moved); err == nil {
			even, odd, err = eval.CoeffsToSlots(moved)
		}
	}
	if err != nil {
		return nil, nil, err
	}
	for _, c := range []**rlwe.Ciphertext{&even, &odd} {
		if *c, err = eval.EvalMod(*c); err != nil {
			return nil, nil, err
		}
		// EvalMod leaves (b - 128) / 2^LogT times QDiff, the modulus over the nearest power of two.
		(*c).Scale = mod1.ScalingFactor().Mul(rlwe.NewScale(mod1.QDiff)).Div(rlwe.NewScale(1 << file.LogT))
		if err = eval.Evaluator.Add(*c, 128, *c); err != nil {
			return nil, nil, err
		}
	}
	return even, odd, nil
}

// readHeader reads a file and parses its first line, which must begin with start.
func readHeader(path, start string, header any) (data []byte, err error) {
	if data, err = os.ReadFile(path); err != nil {
		return nil, err
	}
	var is struct{ Version int }
	switch line, _, whole := bytes.Cut(data, []byte("\n")); {
	case !bytes.HasPrefix(data, []byte(start)):
		err = fmt.Errorf("%s: another kind of file: starts with %#.24q, expected %#q", path, line, start)
	case json.Unmarshal(line, &is) == nil && is.Version != 1:
		err = fmt.Errorf("%s: version %d, this package reads version 1; update homaes/interop/lattigo", path, is.Version)
	case json.Unmarshal(line, header) != nil || !whole:
		err = fmt.Errorf("%s: first line is damaged or cut; copy or make it again", path)
	}
	return data, err
}
