/// What libFuzzer calls with each of its inputs; it returns 0.
public typealias FuzzTest = @convention(c) (UnsafePointer<UInt8>?, Int) -> CInt

/// Runs libFuzzer on a test.
///
/// SwiftPM calls the start of a program by its module's name (`<module>_main`), while libFuzzer has one of its own. So each fuzzer's
/// start is one that calls this.
public func fuzz(
    _ count: CInt, _ arguments: UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>?, with test: FuzzTest
) -> CInt {
    var (count, arguments) = (count, arguments)
    return runDriver(&count, &arguments, test)
}

/// llvm/compiler-rt/lib/fuzzer/FuzzerInterface.h
@_silgen_name("LLVMFuzzerRunDriver")
private func runDriver(
    _ count: UnsafeMutablePointer<CInt>,
    _ arguments: UnsafeMutablePointer<UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>?>,
    _ callback: FuzzTest
) -> CInt
