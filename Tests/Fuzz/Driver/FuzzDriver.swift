import Fuzzing
import Glibc

/// SwiftPM calls the start of a program by its module's name, while libFuzzer has one of its own: this one calls its
/// driver.
///
///     altnet-fuzz list                          the targets: name, longest input, goal, subject
///     altnet-fuzz dictionary NAME               the words that its inputs are made of
///     altnet-fuzz seeds NAME FOLDER             writes what it starts from
///     altnet-fuzz NAME [libFuzzer's arguments]  runs libFuzzer on it
@_cdecl("altnet_fuzz_main")
public func start(_ count: CInt, _ arguments: UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>) -> CInt {
    let words = (1..<max(Int(count), 1)).compactMap { arguments[$0].map { String(cString: $0) } }
    switch (words.first, words.dropFirst().first.flatMap(target), words.dropFirst(2).first) {
    case ("list", _, _): list()
    case ("dictionary", let target?, _): dictionary(of: target)
    case ("seeds", let target?, let folder?): return writeSeeds(of: target, into: folder) ? 0 : 1
    case (let name?, _, _): return run(name, count, arguments)
    default: return usage()
    }
    return 0
}

private func target(_ name: String) -> FuzzTarget? { FuzzTarget.all.first { $0.name == name } }

private func usage() -> CInt {
    print("usage: altnet-fuzz list | dictionary NAME | seeds NAME FOLDER | NAME [libFuzzer's arguments]")
    return 64
}

private func list() {
    for target in FuzzTarget.all { print(target.name, target.longest, target.goal, target.subject, separator: "\t") }
}

private func dictionary(of target: FuzzTarget) {
    print(FuzzDictionary.integers.text + FuzzDictionary(of: target).text, terminator: "")
}

private func writeSeeds(of target: FuzzTarget, into folder: String) -> Bool {
    for (index, seed) in target.seeds().enumerated() {
        guard let file = fopen("\(folder)/seed-\(index)", "w") else { return false }
        defer { fclose(file) }
        guard fwrite(seed, 1, seed.count, file) == seed.count else { return false }
    }
    return true
}

/// The check of each input: one of the targets, for as long as this process runs.
nonisolated(unsafe) private var check: ([UInt8]) -> Void = { _ in }

private func run(
    _ name: String, _ count: CInt, _ arguments: UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>
) -> CInt {
    guard let target = target(name) else { return usage() }
    check = target.prepare()
    // libFuzzer takes everything without a dash for a corpus.
    var (rest, others): (CInt, _) = (count - 1, arguments + 1)
    return runDriver(&rest, &others) { start, count in
        check(Array(UnsafeBufferPointer(start: start, count: count)))
        return 0
    }
}

/// llvm/compiler-rt/lib/fuzzer/FuzzerInterface.h
@_silgen_name("LLVMFuzzerRunDriver")
private func runDriver(
    _ count: UnsafeMutablePointer<CInt>,
    _ arguments: UnsafeMutablePointer<UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>>,
    _ test: @convention(c) (UnsafePointer<UInt8>?, Int) -> CInt
) -> CInt
