extension TimelinePicture {
    func drawAxis(on drawing: inout SVGDrawing, from top: Double, to bottom: Double) {
        let label = SVGDrawing.Lettering(size: 12, colour: Palette.faintInk, anchor: .middle)
        let axis = TimeAxis(timeline.duration)
        for mark in axis.marks {
            drawing.line(x(mark), top, x(mark), bottom, .init(colour: Palette.rule, width: 1))
            drawing.text(axis.label(mark), x(mark), bottom + 18, label)
        }
        drawing.text(
            axis.step < .seconds(60) ? "time, h:mm:ss" : "time, h:mm", Self.labels.lowerBound + 24, bottom + 18,
            Self.faintText)
    }
}
