import FoundationComparison
import FuzzDriver

@_cdecl("foundation_fuzz_main")
public func start(
    _ count: CInt, _ arguments: UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>?
) -> CInt {
    FuzzDriver.fuzz(count, arguments, with: fuzz)
}

/// What libFuzzer calls with each of its inputs: JSON, and Base64. The toolchain's Foundation has to agree.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzz(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    let bytes = Array(UnsafeBufferPointer(start: start, count: count))
    let text = String(validating: bytes, as: UTF8.self)
    // For anything else than UTF-8 the toolchain's Foundation would guess at another encoding.
    if text != nil && !bytes.contains(0) {
        let difference = Comparison.difference(reading: bytes)
        precondition(difference == nil, difference ?? "")
    } else {
        if case .value = Outcome.small(Document.self, bytes) { preconditionFailure("this is not JSON") }
    }
    if let text {
        let difference = Comparison.difference(readingBase64: text)
        precondition(difference == nil, difference ?? "")
    }
    return 0
}
