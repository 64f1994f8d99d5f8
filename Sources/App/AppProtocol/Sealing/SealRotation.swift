/// How long one of the device's sealing keys is the one to use.
public struct SealRotation: Sendable, Equatable {
    /// After so many boxes there is a new key. In its grace the old one opens as many again, then no more: what was opened
    /// is remembered, so it has to be bounded.
    public let boxes: Int
    /// After so long there is a new key.
    public let age: Duration
    /// How long a key opens what is on its way when the next one is there.
    public let grace: Duration

    public init(
        boxes: Int = ProtocolLimits.sealingKeyBoxes, age: Duration = .seconds(ProtocolLimits.sealingKeyAge),
        grace: Duration = .seconds(ProtocolLimits.sealingKeyGrace)
    ) {
        self.boxes = boxes
        self.age = age
        self.grace = grace
    }
}
