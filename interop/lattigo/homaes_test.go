package homaes

import (
	"bytes"
	"crypto/aes"
	"crypto/cipher"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"math"
	"math/big"
	"math/rand"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/tuneinsight/lattigo/v6/circuits/ckks/bootstrapping"
	"github.com/tuneinsight/lattigo/v6/core/rlwe"
	"github.com/tuneinsight/lattigo/v6/schemes/ckks"
	"github.com/tuneinsight/lattigo/v6/utils"
)

// checkBytes half-boots every ciphertext, compares the slots with the message, and returns the last pair.
func checkBytes(t *testing.T, u *user, key *Key, f *File, message []byte) (even, odd *rlwe.Ciphertext) {
	t.Helper()
	n := 1 << f.LogN
	worst, sum := 0.0, 0.0
	padded := append(bytes.Clone(message), make([]byte, len(f.Ciphertexts)*n-len(message))...)
	for i := range f.Ciphertexts {
		var err error
		even, odd, err = HalfBoot(u.eval, key, f, i)
		check(t, err)
		for half, ct := range []*rlwe.Ciphertext{even, odd} {
			for s, v := range u.decrypt(t, ct) {
				at := i*n + 2*s + half
				if at >= len(message) && at/16 == len(message)/16 {
					continue // the rest of the last AES block
				}
				e := math.Abs(v - float64(padded[at]))
				worst, sum = max(worst, e), sum+e*e
			}
		}
	}
	t.Logf("%d bytes: error %.4f (rms), %.4f (largest); level %d, scale 2^%.3f",
		len(padded), math.Sqrt(sum/float64(len(padded))), worst, even.Level(), even.LogScale())
	if worst >= 0.5 {
		t.Errorf("largest error %.3f, expected less than 0.5", worst)
	}
	return even, odd
}

func TestHalfBoot(t *testing.T) {
	rng := rand.New(rand.NewSource(1))
	u := newUser(t, stock(t, 11))
	z := randomBits(rng)
	link, err := ReadLink(write(t, linkFile(z)))
	check(t, err)
	if link.ID != testID || link.Dimension != testDim {
		t.Errorf("link key %s of dimension %d", link.ID, link.Dimension)
	}
	key, err := link.Key(u.params, u.sk)
	check(t, err)
	message := make([]byte, 3000) // one ciphertext and a half
	rng.Read(message)
	copy(message, []byte{0, 255, 1, 254, 127, 128})
	data := synthetic(t, u.params, z, message, rng)
	f, err := Read(write(t, data))
	check(t, err)
	_, _, err = HalfBoot(u.eval, &Key{"ff" + testID[2:], key.EvaluationKey}, f, 0)
	wantError(t, err, "link key "+testID)
	even, odd := checkBytes(t, u, key, f, message)
	if even.Level() < 7 || odd.Level() < 7 {
		t.Errorf("levels %d and %d, expected at least 7", even.Level(), odd.Level())
	}

	// One multiplication: products of neighbouring bytes.
	product, err := u.eval.Evaluator.MulRelinNew(even, odd)
	check(t, err)
	check(t, u.eval.Evaluator.Rescale(product, product))
	worst := 0.0
	last := append(bytes.Clone(message[2048:]), make([]byte, 4096-3000)...)
	for s, v := range u.decrypt(t, product) {
		worst = max(worst, math.Abs(v-float64(last[2*s])*float64(last[2*s+1])))
	}
	t.Logf("products of bytes: error %.2f (largest), level %d", worst, product.Level())
	if worst > 100 { // 255 * 0.1 for each factor, and room
		t.Errorf("largest error of products %.1f", worst)
	}

	// HalfBoot left the file as it was.
	var again bytes.Buffer
	for _, ct := range f.Ciphertexts {
		_, err := ct.WriteTo(&again)
		check(t, err)
	}
	if !bytes.HasSuffix(unsealed(data), again.Bytes()) {
		t.Error("HalfBoot changed its input")
	}
	checkBytes(t, u, key, f, message)

	t.Run("refused", func(t *testing.T) {
		half := func(data []byte, key *Key, i int) error {
			f, err := Read(write(t, data))
			check(t, err)
			_, _, err = HalfBoot(u.eval, key, f, i)
			return err
		}
		wantError(t, half(data, key, 2), "ciphertext 2", "file of 2")
		wantError(t, half(data, key, -1), "ciphertext -1")
		wantError(t, half(data, nil, 0), "link key "+testID)
		wantError(t, half(data, &Key{testID, &rlwe.EvaluationKey{}}, 0), "evaluation key", "Link.Key")
		wantError(t, half(data, &Key{testID, u.eval.EvkDenseToSparse}, 0), "evaluation key", "Link.Key")
		for _, change := range []func(*bootstrapping.ParametersLiteral, *int){
			func(b *bootstrapping.ParametersLiteral, logN *int) { *logN = 12 },
			func(b *bootstrapping.ParametersLiteral, logN *int) { b.LogMessageRatio = utils.Pointy(3) },
		} {
			lit, logN := bootstrapping.N16QP1547H192H32, 11
			change(&lit.BootstrappingParams, &logN)
			lit.SchemeParams.LogN = logN
			lit.BootstrappingParams.LogN, lit.BootstrappingParams.LogSlots = utils.Pointy(logN), utils.Pointy(logN-1)
			other := instantiate(t, lit.SchemeParams, lit.BootstrappingParams)
			found := fmt.Sprintf("log_n %d, message ratio %d;", logN, *lit.BootstrappingParams.LogMessageRatio)
			err := half(synthetic(t, other, z, message[:10], rng), key, 0)
			wantError(t, err, found, "'homaes export' with "+ExportOptions(u.params))
		}
		eval := *u.eval
		eval.CoeffsToSlotsParameters.LogSlots = 5
		_, _, err := HalfBoot(&eval, key, f, 0)
		wantError(t, err, "2^5 slots", "2^10")
		_, err = link.Key(u.params, nil)
		wantError(t, err, "secret key not of ring degree 2048", "GenEvaluationKeys")
		_, err = link.Key(u.params, rlwe.NewSecretKey(stock(t, 10).BootstrappingParameters))
		wantError(t, err, "secret key not of ring degree 2048", "GenEvaluationKeys")
		_, err = (&Link{Dimension: 4096}).Key(u.params, u.sk)
		wantError(t, err, "ring degree 2048 >= 4096")
	})
}

// The residual ring may be smaller than the bootstrapping ring, and the first prime far from a power of two.
func TestOtherParameters(t *testing.T) {
	rng := rand.New(rand.NewSource(2))
	small := bootstrapping.N16QP1547H192H32
	small.SchemeParams.LogN, small.SchemeParams.LogNthRoot = 9, 11
	far := bootstrapping.N16QP1547H192H32
	far.SchemeParams.LogN = 10
	far.SchemeParams.Q = slices.Clone(stock(t, 10).ResidualParameters.Q())
	q := new(big.Int).SetUint64(5<<57 + 1) // 1.25 * 2^59
	for !q.ProbablyPrime(20) {
		q.Add(q, big.NewInt(2048))
	}
	far.SchemeParams.Q[0], far.SchemeParams.LogQ = q.Uint64(), nil
	for _, lit := range []struct {
		scheme ckks.ParametersLiteral
		boot   bootstrapping.ParametersLiteral
	}{{small.SchemeParams, small.BootstrappingParams}, {far.SchemeParams, far.BootstrappingParams}} {
		lit.boot.LogN, lit.boot.LogSlots = utils.Pointy(10), utils.Pointy(9)
		u := newUser(t, instantiate(t, lit.scheme, lit.boot))
		z, message := randomBits(rng), make([]byte, 1024)
		rng.Read(message)
		link, err := ReadLink(write(t, linkFile(z)))
		check(t, err)
		key, err := link.Key(u.params, u.sk)
		check(t, err)
		f, err := Read(write(t, synthetic(t, u.params, z, message, rng)))
		check(t, err)
		checkBytes(t, u, key, f, message)
	}
}

func TestReadRefuses(t *testing.T) {
	rng := rand.New(rand.NewSource(3))
	params := stock(t, 10)
	q := params.BootstrappingParameters.Q()[0]
	message := make([]byte, 1500)
	rng.Read(message)
	data := synthetic(t, params, randomBits(rng), message, rng)
	read := func(data []byte) error {
		_, err := Read(write(t, data))
		return err
	}
	check(t, read(data))
	for end := 0; end < len(data); end += 1000 {
		wantError(t, read(data[:end]))
	}
	wantError(t, read(data[:len(data)-1]), "damaged or cut")
	for i := 0; i < 200; i++ {
		flipped := bytes.Clone(data)
		flipped[rng.Intn(len(data))] ^= 1 << rng.Intn(8)
		wantError(t, read(flipped))
	}
	for i := 0; i < bytes.IndexByte(data, '\n'); i++ { // the whole header, with a right checksum: no panic
		flipped := bytes.Clone(unsealed(data))
		flipped[i] ^= 1 << rng.Intn(8)
		read(sealed(flipped))
	}
	start := bytes.IndexByte(data, '\n') + 1
	for i := start; i < start+310; i++ { // Lattigo's own header
		flipped := bytes.Clone(unsealed(data))
		flipped[i] ^= 1 << rng.Intn(8)
		if i < start+278+24 {
			wantError(t, read(sealed(flipped)), "Lattigo")
		}
	}
	wantError(t, read([]byte("PK\x03\x04 a zip file")), "another kind of file", "PK")
	wantError(t, read(linkFile(randomBits(rng))), "another kind of file", "link key")
	wantError(t, read(edited(t, data, `"version":1`, `"version":2`)), "version 2", "update")
	wantError(t, read(edited(t, data, `"log_n":10`, `"log_n":63`)), "out of range")
	wantError(t, read(edited(t, data, `"log_n":10`, `"log_n":11`)), "export it again")
	wantError(t, read(edited(t, data, `"ciphertexts":2`, `"ciphertexts":9223372036854775807`)), "export it again")
	wantError(t, read(edited(t, data, `"bytes":1500`, `"bytes":9223372036854775807`)), "export it again")
	wantError(t, read(edited(t, data, `"bytes":1500`, `"bytes":1024`)), "export it again")
	wantError(t, read(edited(t, data, `"bytes":1500`, `"bytes":-1`)), "export it again")
	wantError(t, read(edited(t, data, `"bytes":1500`, `"bytes":1e99`)), "first line")
	wantError(t, read(edited(t, data, `"message_ratio":2`, `"message_ratio":-2`)), "out of range")
	wantError(t, read(edited(t, data, `"message_ratio":2`, `"message_ratio":3`)), "Lattigo")
	wantError(t, read(edited(t, data, fmt.Sprint(q), fmt.Sprint(q+2048))), "Lattigo")
	large := bytes.Clone(unsealed(data))
	copy(large[len(large)-8:], []byte{255, 255, 255, 255, 255, 255, 255, 255})
	wantError(t, read(sealed(large)), "ciphertext 1", "Lattigo")
	for i, c := range [2]uint64{q, q - 1} { // the last coefficient
		binary.LittleEndian.PutUint64(large[len(large)-8:], c)
		if err := read(sealed(large)); (err == nil) != (i == 1) {
			t.Errorf("coefficient %d modulo %d: %v", c, q, err)
		}
	}
	if _, err := Read(filepath.Join(t.TempDir(), "none")); !os.IsNotExist(err) {
		t.Errorf("missing file: %v", err)
	}
}

func TestReadLinkRefuses(t *testing.T) {
	rng := rand.New(rand.NewSource(4))
	z := randomBits(rng)
	data := linkFile(z)
	read := func(data []byte) error {
		_, err := ReadLink(write(t, data))
		return err
	}
	check(t, read(data))
	for i := range data {
		wantError(t, read(data[:i]))
		flipped := bytes.Clone(data)
		flipped[i] ^= 1 << rng.Intn(8)
		read(flipped) // no panic; a flip in the name of the set is not seen
	}
	wrong := linkFile(append([]byte{^z[0]}, z[1:]...))
	sum := bytes.Index(data, []byte(`,"sha256"`))
	wantError(t, read(append(wrong[:sum:sum], data[sum:]...)), "damaged")
	wantError(t, read(bytes.Replace(data, []byte(testID), []byte("ff"+testID[2:]), 1)), "damaged")
	wantError(t, read(bytes.Replace(data, []byte(`"version":1`), []byte(`"version":7`), 1)), "version 7", "update")
	wantError(t, read(bytes.Replace(data, []byte("256"), []byte("512"), 1)), "of 512 bits")
	wantError(t, read(linkFile(make([]byte, 32))), "0 of 256 bits", "insecure")
	wantError(t, read(linkFile(bytes.Repeat([]byte{255}, 32))), "256 of 256 bits", "insecure")
	wantError(t, read(linkFile(bytes.Repeat([]byte{1}, 32))), "32 of 256 bits", "insecure")
	wantError(t, read(linkFile(bytes.Repeat([]byte{15}, 8))), "of 64 bits")
	wantError(t, read(linkFile(bytes.Repeat([]byte{15}, 33))), "of 264 bits")
	wantError(t, read(synthetic(t, stock(t, 10), z, []byte("message"), rng)), "another kind of file", "lattigo")
	empty := fmt.Sprintf(`{"homaes":"link key","version":1,"sha256":"%x"}`, sha256.Sum256(nil))
	wantError(t, read([]byte(empty+"\n")), "damaged")
}

// Files of homaes itself: testdata/toy.lattigo, toy.key (the link key) and toy.bytes (the message).
func TestGolden(t *testing.T) {
	if _, err := os.Stat("testdata/toy.lattigo"); err != nil {
		t.Skipf("no golden files: %v", err)
	}
	f, err := Read("testdata/toy.lattigo")
	check(t, err)
	link, err := ReadLink("testdata/toy.key")
	check(t, err)
	message, err := os.ReadFile("testdata/toy.bytes")
	check(t, err)
	if f.Bytes != len(message) {
		t.Fatalf("%d bytes, expected %d", f.Bytes, len(message))
	}
	data, err := os.ReadFile("testdata/toy.lattigo")
	check(t, err)
	out := bytes.NewBuffer(data[: bytes.IndexByte(data, '\n')+1 : bytes.IndexByte(data, '\n')+1])
	for _, ct := range f.Ciphertexts {
		_, err := ct.WriteTo(out)
		check(t, err)
	}
	if !bytes.Equal(sealed(out.Bytes()), data) {
		t.Error("Lattigo writes other bytes")
	}
	u := newUser(t, stock(t, f.LogN))
	key, err := link.Key(u.params, u.sk)
	check(t, err)
	checkBytes(t, u, key, f, message)
}

// The whole way, with the command in $HOMAES, the set in $HOMAES_SET and Lattigo's ring in $HOMAES_LOG_N.
func TestCommand(t *testing.T) {
	if os.Getenv("HOMAES") == "" {
		t.Skip("HOMAES does not name the command homaes")
	}
	homaes, err := filepath.Abs(os.Getenv("HOMAES"))
	check(t, err)
	set := os.Getenv("HOMAES_SET")
	if set == "" {
		set = "bgv/toy-4369"
	}
	dir := t.TempDir()
	run := func(args string) {
		t.Helper()
		command := exec.Command(homaes, strings.Fields(args)...)
		command.Dir = dir
		start := time.Now()
		defer func() { t.Logf("%.20s...: %.1f s", args, time.Since(start).Seconds()) }()
		if out, err := command.CombinedOutput(); err != nil {
			t.Fatalf("homaes %s: %v\n%s", args, err, out)
		}
	}
	logN := 11
	if text := os.Getenv("HOMAES_LOG_N"); text != "" {
		logN, err = strconv.Atoi(text)
		check(t, err)
	}
	rng := rand.New(rand.NewSource(5))
	secret, iv, message := make([]byte, 16), make([]byte, 16), make([]byte, 1<<logN-5)
	if strings.Contains(set, "aes256+") {
		secret = make([]byte, 32)
	}
	rng.Read(secret)
	rng.Read(iv)
	rng.Read(message)
	block, err := aes.NewCipher(secret)
	check(t, err)
	encrypted := make([]byte, len(message))
	cipher.NewCTR(block, iv).XORKeyStream(encrypted, message)
	check(t, os.WriteFile(filepath.Join(dir, "m.aes"), encrypted, 0o600))
	check(t, os.WriteFile(filepath.Join(dir, "aes.key"), []byte(hex.EncodeToString(secret)), 0o600))

	run("keygen --set " + set + " --out keys --bridge ckks --accept-insecure")
	link, err := ReadLink(filepath.Join(dir, "keys/link.key"))
	check(t, err)
	u := newUser(t, stock(t, logN))
	key, err := link.Key(u.params, u.sk)
	check(t, err)
	run("wrap-key --secret keys/secret.hsk --key-file aes.key --levels-left 11 -o key.hwk")
	run(fmt.Sprintf("transcipher --eval keys/eval.hek --wrapped-key key.hwk --mode ctr --iv %x"+
		" --to ckks --bridge keys/bridge.hbk -o m.hrl m.aes", iv))
	run("export --to lattigo " + ExportOptions(u.params) + " -o m.lattigo m.hrl")
	f, err := Read(filepath.Join(dir, "m.lattigo"))
	check(t, err)
	if f.Bytes != len(message) {
		t.Fatalf("%d bytes, expected %d", f.Bytes, len(message))
	}
	checkBytes(t, u, key, f, message)
}
