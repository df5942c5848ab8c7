package homaes

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"math"
	"math/bits"
	"math/rand"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tuneinsight/lattigo/v6/circuits/ckks/bootstrapping"
	"github.com/tuneinsight/lattigo/v6/core/rlwe"
	"github.com/tuneinsight/lattigo/v6/ring"
	"github.com/tuneinsight/lattigo/v6/schemes/ckks"
	"github.com/tuneinsight/lattigo/v6/utils"
)

const (
	testID    = "000102030405060708090a0b0c0d0e0f"
	testDim   = 256
	testLogT  = 11
	testNoise = 1.0 / (1 << 17) // of the modulus
)

// stock returns N16QP1547H192H32 in a small, insecure ring.
func stock(t *testing.T, logN int) bootstrapping.Parameters {
	t.Helper()
	lit := bootstrapping.N16QP1547H192H32
	lit.SchemeParams.LogN = logN
	lit.BootstrappingParams.LogN = utils.Pointy(logN)
	lit.BootstrappingParams.LogSlots = utils.Pointy(logN - 1)
	return instantiate(t, lit.SchemeParams, lit.BootstrappingParams)
}

func instantiate(
	t *testing.T, scheme ckks.ParametersLiteral, lit bootstrapping.ParametersLiteral) bootstrapping.Parameters {
	t.Helper()
	params, err := ckks.NewParametersFromLiteral(scheme)
	check(t, err)
	btp, err := bootstrapping.NewParametersFromLiteral(params, lit)
	check(t, err)
	return btp
}

// user has the keys of a user of Lattigo.
type user struct {
	params bootstrapping.Parameters
	sk     *rlwe.SecretKey
	eval   *bootstrapping.Evaluator
}

func newUser(t *testing.T, params bootstrapping.Parameters) *user {
	t.Helper()
	residual := rlwe.NewKeyGenerator(params.ResidualParameters).GenSecretKeyNew()
	evk, sk, err := params.GenEvaluationKeys(residual)
	check(t, err)
	eval, err := bootstrapping.NewEvaluator(params, evk)
	check(t, err)
	return &user{params, sk, eval}
}

func (u *user) decrypt(t *testing.T, ct *rlwe.Ciphertext) []float64 {
	t.Helper()
	p := u.params.BootstrappingParameters
	values := make([]float64, ct.Slots())
	check(t, ckks.NewEncoder(p).Decode(rlwe.NewDecryptor(p, u.sk).DecryptNew(ct), values))
	return values
}

// linkFile returns a link key file with these bits.
func linkFile(bits []byte) []byte {
	id, _ := hex.DecodeString(testID)
	sum := sha256.Sum256(append(id, bits...))
	return []byte(fmt.Sprintf(`{"homaes":"link key","version":1,"id":"%s","set":"bgv/toy-4369","dimension":%d,`+
		`"bits":"%x","sha256":"%x"}`+"\n",
		testID, 8*len(bits), bits, sum))
}

func randomBits(rng *rand.Rand) []byte {
	z := make([]byte, testDim/8)
	rng.Read(z)
	return z
}

// synthetic returns a file for Lattigo as homaes writes it.
func synthetic(t *testing.T, params bootstrapping.Parameters, z, message []byte, rng *rand.Rand) []byte {
	t.Helper()
	p := params.BootstrappingParameters
	q, n, logN, ratio := p.Q()[0], p.N(), p.LogN(), params.Mod1ParametersLiteral.LogMessageRatio
	count := (len(message) + n - 1) / n
	var out bytes.Buffer
	fmt.Fprintf(&out, `{"homaes":"lattigo","version":1,"set":"bgv/toy-4369","link":"%s","dimension":%d,"modulus":%d,`+
		`"log_n":%d,"message_ratio":%d,"log2_t":%d,"bytes":%d,"ciphertexts":%d}`+"\n",
		testID, 8*len(z), q, logN, ratio, testLogT, len(message), count)
	r := p.RingQ().AtLevel(0)
	secret := r.NewPoly()
	for i := 0; i < 8*len(z); i++ {
		secret.Coeffs[0][i*n/(8*len(z))] = uint64(z[i/8]>>(i%8)) & 1
	}
	r.NTT(secret, secret)
	r.MForm(secret, secret)
	for i := 0; i < count; i++ {
		ct, err := rlwe.NewCiphertextAtLevelFromPoly(0, []ring.Poly{r.NewPoly(), r.NewPoly()})
		check(t, err)
		ct.Scale = rlwe.NewScale(q).Div(rlwe.NewScale(uint64(1) << ratio))
		ct.IsBatched, ct.LogDimensions = true, ring.Dimensions{Rows: 0, Cols: logN - 1}
		product := r.NewPoly()
		for j := 0; j < n; j++ {
			ct.Value[1].Coeffs[0][j] = rng.Uint64() % q
		}
		r.NTT(ct.Value[1], product)
		r.MulCoeffsMontgomery(product, secret, product)
		r.INTT(product, product)
		for j := 0; j < n; j++ {
			slot := int(bits.Reverse64(uint64(j%(n/2))) >> (65 - logN))
			b, place := byte(0), i*n+2*slot+j/(n/2)
			if place < len(message) {
				b = message[place]
			}
			phase := (float64(b)-128)/(1<<testLogT) + rng.NormFloat64()*testNoise
			phase -= math.Floor(phase)
			ct.Value[0].Coeffs[0][j] = (uint64(phase*float64(q))%q + q - product.Coeffs[0][j]) % q
		}
		_, err = ct.WriteTo(&out)
		check(t, err)
	}
	return sealed(out.Bytes())
}

// sealed appends the checksum.
func sealed(data []byte) []byte {
	sum := sha256.Sum256(data)
	return append(data[:len(data):len(data)], sum[:]...)
}

// unsealed removes it.
func unsealed(data []byte) []byte { return data[:len(data)-sha256.Size] }

// edited replaces text in the header and mends the checksum.
func edited(t *testing.T, data []byte, old, new string) []byte {
	t.Helper()
	if !bytes.Contains(data[:bytes.IndexByte(data, '\n')], []byte(old)) {
		t.Fatalf("header has no %s", old)
	}
	return sealed(bytes.Replace(unsealed(data), []byte(old), []byte(new), 1))
}

func write(t *testing.T, data []byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "file")
	check(t, os.WriteFile(path, data, 0o600))
	return path
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// wantError expects an error of one line that contains all parts.
func wantError(t *testing.T, err error, parts ...string) {
	t.Helper()
	if err == nil {
		t.Fatalf("no error, expected one with %q", parts)
	}
	for _, part := range parts {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("error %q, expected %q in it", err, part)
		}
	}
	if strings.Contains(err.Error(), "\n") {
		t.Errorf("error of several lines: %q", err)
	}
}
