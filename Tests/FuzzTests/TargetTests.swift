import Fuzzing
import Randomness
import Testing

/// What libFuzzer does for hours, for a moment: the properties of every target hold for its seeds, for the words of its
/// dictionary, and for a few hundred inputs made of both.
@Suite struct TargetTests {
    @Test(arguments: FuzzTarget.all.map(\.name)) func theSeedsAndWhatIsMadeOfThemKeepTheProperties(name: String) throws
    {
        let target = try #require(FuzzTarget.all.first { $0.name == name })
        let check = target.prepare()
        let seeds = target.seeds()
        #expect(!seeds.isEmpty && seeds.allSatisfy { !$0.isEmpty && $0.count <= target.longest })
        check([])
        for seed in seeds { check(seed) }
        let words = FuzzDictionary.integers.words + FuzzDictionary(of: target).words
        // A life of a key file, or a handshake, takes as long as thousands of others.
        let isSlow = target.goal < 10_000_000
        for word in words where !isSlow { check(word) }
        var random = SeededRandom(seed: 19)
        for _ in 0..<(isSlow ? 24 : 400) { check(random.input(of: seeds, words, longest: target.longest)) }
    }

    @Test func everyTargetHasAName() {
        let names = FuzzTarget.all.map(\.name)
        #expect(Set(names).count == names.count)
        #expect(names.allSatisfy { $0.allSatisfy { $0.isLowercase || $0 == "-" } })
    }
}

extension SeededRandom {
    /// One of the seeds, changed in a few places.
    fileprivate mutating func input(of seeds: [[UInt8]], _ words: [[UInt8]], longest: Int) -> [UInt8] {
        var input = seeds.randomElement(using: &self) ?? []
        for _ in 0..<Int.random(in: 1...4, using: &self) {
            let place = Int.random(in: 0...input.count, using: &self)
            let end = min(place + Int.random(in: 0...8, using: &self), input.count)
            switch Int.random(in: 0..<4, using: &self) {
            case 0: input.replaceSubrange(place..<end, with: words.randomElement(using: &self) ?? [])
            case 1: input.replaceSubrange(place..<end, with: [UInt8.random(in: 0...255, using: &self)])
            case 2: input.removeSubrange(place..<end)
            default: input.insert(contentsOf: input[place..<end], at: Int.random(in: 0...place, using: &self))
            }
        }
        return Array(input.prefix(longest))
    }
}
